/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate of the HTTP server; http_tls.c alone knows GnuTLS. For http_mhd.c alone.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <stddef.h>

struct http_tls;

/* TLS 1.2 and newer, with forward secrecy and ciphers that authenticate what they encrypt. */
#define HTTP_TLS_PRIORITIES                                                                        \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-AES-128-CBC:-AES-256-CBC:"          \
    "-CAMELLIA-128-CBC:-CAMELLIA-256-CBC:-3DES-CBC:-AES-128-CCM-8:-AES-256-CCM-8:-SHA1:"           \
    "-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1"

/* Reads a PEM chain, the server's certificate first, and its key, which others may not read. One at
 * a time in a process: the handshake's hook has no context. SKEIN_OK; SKEIN_BUSY; SKEIN_IO,
 * SKEIN_INVALID, SKEIN_NO_MEMORY with words that name the file. */
int http_tls_new(const char *certificate, const char *key, struct http_tls **out, char *error,
                 size_t error_bytes);
/* When no handshake can run any more. */
void http_tls_free(struct http_tls **tls);

/* Reads both files again: handshakes from now on show what they hold, connections that are open go
 * on. On failure everything stays as it was; the same codes. Any thread. */
int http_tls_reload(struct http_tls *tls, char *error, size_t error_bytes);

/* What libmicrohttpd calls in a handshake, MHD_OPTION_HTTPS_CERT_CALLBACK2. */
typedef void http_tls_hook(void);
http_tls_hook *http_tls_retrieve(void);

#endif
