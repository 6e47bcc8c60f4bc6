# SPDX-License-Identifier: Apache-2.0
skein_fuzz(symbol_elf LINK skein_agent_core skein_symbol_serve)
skein_fuzz(symbol_wire LINK skein_agent_core skein_symbol_serve)
skein_fuzz(symbol_jit LINK skein_symbol_serve skein_common)
