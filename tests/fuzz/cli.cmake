# SPDX-License-Identifier: Apache-2.0
skein_fuzz(sse LINK skein_cli_core skein_common)
