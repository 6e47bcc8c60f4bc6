# SPDX-License-Identifier: Apache-2.0
skein_fuzz(segment LINK skein_server_core)
