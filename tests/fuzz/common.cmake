# SPDX-License-Identifier: Apache-2.0
skein_fuzz(json LINK skein_common)
skein_fuzz(names LINK skein_common)
skein_fuzz(selector LINK skein_common)
skein_fuzz(text_shown LINK skein_common)
skein_fuzz(units LINK skein_common)
