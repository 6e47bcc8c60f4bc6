# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_spool_faults.c LINK skein_agent_core skein_test_support)
target_link_options(t_fault_spool_faults PRIVATE LINKER:--wrap=write,--wrap=fsync,--wrap=renameat)
