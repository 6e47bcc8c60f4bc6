# SPDX-License-Identifier: Apache-2.0
skein_fuzz(page LINK skein_analysis skein_format)
