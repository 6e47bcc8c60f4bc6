# SPDX-License-Identifier: Apache-2.0
skein_fuzz(seal LINK skein_seal)
skein_fuzz(wire LINK skein_protocol)
