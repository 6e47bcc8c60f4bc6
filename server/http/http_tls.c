/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the certificates that the HTTP server has shown and their keys. Handshakes on the server's
 * threads take the newest one; those before it are kept until the end, because handshakes may still
 * read them: only a file that has really changed adds one.
 */
#include "http_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http_door.h"
#include "log.h"
#include "metrics.h"
#include "skein/status.h"

#define CHAIN_MAX      16
#define FILE_BYTES_MAX (1u << 20)
#define KEY_ID_BYTES   64
#define SOON_S         (14 * 86400)

struct identity {
    struct identity *older;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count; /* certificates in chain */
    gnutls_privkey_t key;
};

struct http_tls {
    char *certificate, *key;
    pthread_mutex_t lock;
    struct identity *newest; /* guarded by lock */
};

static pthread_mutex_t serving_lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_tls *serving; /* guarded by serving_lock */

static int tls_fail(char *error, size_t error_bytes, const char *what, const char *path,
                    const char *why, int status)
{
    snprintf(error, error_bytes, "%s %s: %s", what, path, why);
    return status;
}

/* ---- files ---- */

static void datum_free(gnutls_datum_t *datum)
{
    if (datum->data != NULL)
        explicit_bzero(datum->data, datum->size);
    free(datum->data);
    *datum = (gnutls_datum_t){NULL, 0};
}

static int whole_read(int fd, size_t n, gnutls_datum_t *out)
{
    out->data = malloc(n + 1);
    if (out->data == NULL)
        return SKEIN_NO_MEMORY;
    out->size = 0;
    while (out->size < n) {
        ssize_t got = read(fd, out->data + out->size, n - out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SKEIN_IO;
        if (got == 0)
            break;
        out->size += (unsigned)got;
    }
    return SKEIN_OK;
}

/* What may be said against the file; NULL: nothing. */
static const char *complaint(const struct stat *st, bool secret)
{
    if (!S_ISREG(st->st_mode))
        return "is no file";
    if (st->st_size > (off_t)FILE_BYTES_MAX)
        return "is larger than 1 MiB";
    /* A group may read it, as Debian's ssl-cert does. */
    if (secret && (st->st_mode & 0027) != 0)
        return "others may read it, or its group may write it; chmod 600 it";
    return NULL;
}

static int file_load(const char *what, const char *path, bool secret, gnutls_datum_t *out,
                     char *error, size_t error_bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tls_fail(error, error_bytes, what, path, strerror(errno), SKEIN_IO);
    int status = fstat(fd, &st) == 0 ? SKEIN_OK : SKEIN_IO;
    const char *why = status == SKEIN_OK ? complaint(&st, secret) : strerror(errno);
    if (status == SKEIN_OK && why != NULL)
        status = SKEIN_INVALID;
    if (status == SKEIN_OK && (status = whole_read(fd, (size_t)st.st_size, out)) != SKEIN_OK)
        why = status == SKEIN_IO ? strerror(errno) : skein_status_text(status);
    close(fd);
    return status == SKEIN_OK ? SKEIN_OK : tls_fail(error, error_bytes, what, path, why, status);
}

/* ---- an identity ---- */

static void identity_free(struct identity **identity)
{
    struct identity *i = *identity;
    if (i == NULL)
        return;
    for (unsigned n = 0; n < i->count; n++)
        gnutls_pcert_deinit(&i->chain[n]);
    if (i->key != NULL)
        gnutls_privkey_deinit(i->key);
    free(i);
    *identity = NULL;
}

static bool key_fits(const struct identity *i)
{
    unsigned char of_key[KEY_ID_BYTES], of_certificate[KEY_ID_BYTES];
    size_t a = sizeof of_key, b = sizeof of_certificate;
    gnutls_pubkey_t public;
    if (gnutls_pubkey_init(&public) != GNUTLS_E_SUCCESS)
        return false;
    bool fits =
        gnutls_pubkey_import_privkey(public, i->key, 0, 0) == GNUTLS_E_SUCCESS &&
        gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key, &a) == GNUTLS_E_SUCCESS &&
        gnutls_pubkey_get_key_id(i->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_certificate, &b) ==
            GNUTLS_E_SUCCESS &&
        a == b && memcmp(of_key, of_certificate, a) == 0;
    gnutls_pubkey_deinit(public);
    return fits;
}

static int tls_parse(const struct http_tls *tls, const gnutls_datum_t *certificate,
                     const gnutls_datum_t *key, struct identity *i, char *error, size_t error_bytes)
{
    unsigned count = CHAIN_MAX;
    int code = gnutls_pcert_list_import_x509_raw(i->chain, &count, certificate, GNUTLS_X509_FMT_PEM,
                                                 GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (code < 0 || count == 0)
        return tls_fail(error, error_bytes, "http.tls_certificate", tls->certificate,
                        code < 0 ? gnutls_strerror(code) : "holds no certificate", SKEIN_INVALID);
    i->count = count;
    code = gnutls_privkey_init(&i->key);
    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(i->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code < 0)
        return tls_fail(error, error_bytes, "http.tls_key", tls->key, gnutls_strerror(code),
                        SKEIN_INVALID);
    if (!key_fits(i))
        return tls_fail(error, error_bytes, "http.tls_key", tls->key,
                        "is not the key of the first certificate in http.tls_certificate",
                        SKEIN_INVALID);
    return SKEIN_OK;
}

static int identity_load(const struct http_tls *tls, struct identity **out, char *error,
                         size_t error_bytes)
{
    gnutls_datum_t certificate = {NULL, 0}, key = {NULL, 0};
    struct identity *i = calloc(1, sizeof *i);
    int status = i != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = file_load("http.tls_certificate", tls->certificate, false, &certificate, error,
                           error_bytes);
    if (status == SKEIN_OK)
        status = file_load("http.tls_key", tls->key, true, &key, error, error_bytes);
    if (status == SKEIN_OK)
        status = tls_parse(tls, &certificate, &key, i, error, error_bytes);
    datum_free(&certificate);
    datum_free(&key);
    if (status != SKEIN_OK)
        identity_free(&i);
    *out = i;
    return status;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
    bool same = a->count == b->count;
    for (unsigned n = 0; same && n < a->count; n++)
        same = a->chain[n].cert.size == b->chain[n].cert.size &&
               memcmp(a->chain[n].cert.data, b->chain[n].cert.data, a->chain[n].cert.size) == 0;
    return same;
}

/* Tells when it ends, aloud where that is soon. */
static void expiry_tell(const struct http_tls *tls, struct identity *i)
{
    gnutls_x509_crt_t certificate;
    if (gnutls_pcert_export_x509(&i->chain[0], &certificate) != GNUTLS_E_SUCCESS)
        return;
    time_t ends = gnutls_x509_crt_get_expiration_time(certificate), now = time(NULL);
    gnutls_x509_crt_deinit(certificate);
    metrics_set(http_certificate_expires_seconds, ends > 0 ? ends : 0);
    if (ends < now + SOON_S)
        log_warn("http",
                 ends < now ? "the certificate has expired: clients refuse it"
                            : "the certificate expires within two weeks",
                 "file", tls->certificate, NULL);
}

/* ---- the server's ---- */

static int tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **chain, unsigned *count, gnutls_ocsp_data_st **ocsp,
                        unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    pthread_mutex_lock(&serving_lock);
    struct http_tls *tls = serving;
    pthread_mutex_unlock(&serving_lock);
    if (tls == NULL)
        return -1;
    pthread_mutex_lock(&tls->lock);
    struct identity *i = tls->newest;
    pthread_mutex_unlock(&tls->lock);
    *chain = i->chain;
    *count = i->count;
    *key = i->key;
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = 0; /* they stay ours */
    return 0;
}

http_tls_hook *http_tls_retrieve(void)
{
    gnutls_certificate_retrieve_function3 *hook = tls_retrieve;
    return (http_tls_hook *)hook;
}

int http_tls_reload(struct http_tls *tls, char *error, size_t error_bytes)
{
    struct identity *fresh;
    int status = identity_load(tls, &fresh, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    expiry_tell(tls, fresh);
    pthread_mutex_lock(&tls->lock);
    bool changed = tls->newest == NULL || !is_same(tls->newest, fresh);
    if (changed) {
        fresh->older = tls->newest;
        tls->newest = fresh;
    }
    pthread_mutex_unlock(&tls->lock);
    if (!changed)
        identity_free(&fresh);
    else
        log_info("http", "certificate read", "file", tls->certificate, NULL);
    return SKEIN_OK;
}

static bool tls_serve(struct http_tls *tls)
{
    pthread_mutex_lock(&serving_lock);
    bool is_free = serving == NULL;
    if (is_free)
        serving = tls;
    pthread_mutex_unlock(&serving_lock);
    return is_free;
}

int http_tls_new(const char *certificate, const char *key, struct http_tls **out, char *error,
                 size_t error_bytes)
{
    struct http_tls *tls = calloc(1, sizeof *tls);
    *out = tls;
    if (tls == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_init(&tls->lock, NULL);
    tls->certificate = strdup(certificate);
    tls->key = strdup(key);
    int status = tls->certificate != NULL && tls->key != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = http_tls_reload(tls, error, error_bytes);
    if (status == SKEIN_OK && !tls_serve(tls)) {
        snprintf(error, error_bytes, "another HTTP server of this process has TLS");
        status = SKEIN_BUSY;
    }
    if (status != SKEIN_OK)
        http_tls_free(out);
    return status;
}

void http_tls_free(struct http_tls **tls)
{
    struct http_tls *t = *tls;
    if (t == NULL)
        return;
    pthread_mutex_lock(&serving_lock);
    if (serving == t)
        serving = NULL;
    pthread_mutex_unlock(&serving_lock);
    while (t->newest != NULL) {
        struct identity *older = t->newest->older;
        identity_free(&t->newest);
        t->newest = older;
    }
    pthread_mutex_destroy(&t->lock);
    free(t->certificate);
    free(t->key);
    free(t);
    *tls = NULL;
}

/* ---- reads of the HTTP server ---- */

static ssize_t record_read(void *context, void *out, size_t n)
{
    unsigned char sequence[8];
    return gnutls_record_recv_seq(context, out, n, sequence);
}

static bool more_of_record(void *context)
{
    return gnutls_record_check_pending(context) > 0;
}

/* Takes the place of GnuTLS's, as http_door.c does of recv(). */
ssize_t gnutls_record_recv(gnutls_session_t session, void *out, size_t n)
{
    struct http_door *door = http_door_of(gnutls_transport_get_int(session));
    struct http_door_source source = {record_read, more_of_record, session};
    if (door == NULL || !door->tls || n == 0)
        return record_read(session, out, n);
    return http_door_read(door, &source, out, n, GNUTLS_E_AGAIN);
}
