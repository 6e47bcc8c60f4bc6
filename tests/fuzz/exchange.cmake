# SPDX-License-Identifier: Apache-2.0
skein_fuzz(export LINK skein_exchange skein_format skein_common)
