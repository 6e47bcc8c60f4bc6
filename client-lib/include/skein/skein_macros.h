/* SPDX-License-Identifier: Apache-2.0
 *
 * The event macros of skein.h. Each makes one static site and, only while its group is enabled,
 * evaluates its arguments once, captures them, and writes the record inline. No macro returns from
 * its caller. Any thread; signal-safe; C11 and C++17 with GNU extensions (gcc, clang).
 */
#ifndef SKEIN_MACROS_H
#define SKEIN_MACROS_H

/* SKEIN_INSTANT("name", (type, "argument", value)...): something happened. */
#define SKEIN_INSTANT(...) SKEIN_EVENT_(SKEIN_CLASS_INSTANT, SKEIN_GROUP, __VA_ARGS__)

/* SKEIN_COUNTER("name", integer), SKEIN_COUNTER_F64("name", real): the value is now this. */
#define SKEIN_COUNTER(name, value)                                                                 \
    SKEIN_EVENT_(SKEIN_CLASS_COUNTER, SKEIN_GROUP, name, (i64, "value", value))
#define SKEIN_COUNTER_F64(name, value)                                                             \
    SKEIN_EVENT_(SKEIN_CLASS_COUNTER, SKEIN_GROUP, name, (f64, "value", value))

/* SKEIN_LOG(SKEIN_WARN, text): a line of the service's log. */
#define SKEIN_LOG(level, text)                                                                     \
    SKEIN_EVENT_(SKEIN_CLASS_LOG, SKEIN_GROUP_LOG, "log", (u64, "level", level),                   \
                 (str, "text", text))

/* SKEIN_REGION("name", args...): from here until the enclosing block is left, by whatever way. */
#define SKEIN_REGION(...) SKEIN_REGION_(__COUNTER__, __VA_ARGS__)

/* SKEIN_BEGIN("name", args...) ... SKEIN_END(): the same across blocks and functions of one thread.
 * Prefer SKEIN_REGION: it cannot be left open, and it knows whether its begin was recorded. */
#define SKEIN_BEGIN(...)                                                                           \
    do {                                                                                           \
        static struct skein_site skein_site_ =                                                     \
            SKEIN_SITE_(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP, __VA_ARGS__);                        \
        SKEIN_RECORD_(skein_site_, SKEIN_GROUP, (void), skein_record_close_begin, __VA_ARGS__)     \
    } while (0)
#define SKEIN_END() skein_end()

/* A static initialiser for struct skein_site: SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_IO, "read",
 * (i64, "fd"), (u64, "bytes")). For skein_emit, skein_begin and skein_op_enter. */
#define SKEIN_SITE(klass, group, ...) SKEIN_SITE_(klass, group, __VA_ARGS__)

/* ---- inside ---- */

#define SKEIN_CAT_(a, b)    SKEIN_CAT2_(a, b)
#define SKEIN_CAT2_(a, b)   a##b
#define SKEIN_CALL_(m, ...) m(__VA_ARGS__)
#define SKEIN_OPEN_(...)    __VA_ARGS__

#define SKEIN_COUNT_(...)                          SKEIN_COUNT2_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, 0)
#define SKEIN_COUNT2_(n, a, b, c, d, e, f, k, ...) k
#define SKEIN_NAME_(...)                           SKEIN_NAME2_(__VA_ARGS__, )
#define SKEIN_NAME2_(name, ...)                    name

/* Applies m(index, type, "name", value) to each argument after the name. */
#define SKEIN_EACH_(m, ...) SKEIN_CAT_(SKEIN_EACH, SKEIN_COUNT_(__VA_ARGS__))(m, __VA_ARGS__)
#define SKEIN_EACH0(m, n)
#define SKEIN_EACH1(m, n, a)          SKEIN_CALL_(m, 0, SKEIN_OPEN_ a)
#define SKEIN_EACH2(m, n, a, b)       SKEIN_EACH1(m, n, a) SKEIN_CALL_(m, 1, SKEIN_OPEN_ b)
#define SKEIN_EACH3(m, n, a, b, c)    SKEIN_EACH2(m, n, a, b) SKEIN_CALL_(m, 2, SKEIN_OPEN_ c)
#define SKEIN_EACH4(m, n, a, b, c, d) SKEIN_EACH3(m, n, a, b, c) SKEIN_CALL_(m, 3, SKEIN_OPEN_ d)
#define SKEIN_EACH5(m, n, a, b, c, d, e)                                                           \
    SKEIN_EACH4(m, n, a, b, c, d) SKEIN_CALL_(m, 4, SKEIN_OPEN_ e)
#define SKEIN_EACH6(m, n, a, b, c, d, e, f)                                                        \
    SKEIN_EACH5(m, n, a, b, c, d, e) SKEIN_CALL_(m, 5, SKEIN_OPEN_ f)

#define SKEIN_TYPE_u64     SKEIN_T_U64
#define SKEIN_TYPE_i64     SKEIN_T_I64
#define SKEIN_TYPE_f64     SKEIN_T_F64
#define SKEIN_TYPE_boolean SKEIN_T_BOOL
#define SKEIN_TYPE_ptr     SKEIN_T_PTR
#define SKEIN_TYPE_str     SKEIN_T_STR
#define SKEIN_TYPE_sym     SKEIN_T_STR
#define SKEIN_TYPE_seq     SKEIN_T_SEQ

#define SKEIN_DESC_(type, ...)                                                                     \
    {                                                                                              \
        SKEIN_TYPE_##type, SKEIN_NAME_(__VA_ARGS__), ""                                            \
    }
#define SKEIN_DESC1_(t)   SKEIN_CALL_(SKEIN_DESC_, SKEIN_OPEN_ t)
#define SKEIN_DESCS_(...) SKEIN_CAT_(SKEIN_DESCS, SKEIN_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define SKEIN_DESCS0(n)                                                                            \
    {                                                                                              \
        0, "", ""                                                                                  \
    }
#define SKEIN_DESCS1(n, a)                SKEIN_DESC1_(a)
#define SKEIN_DESCS2(n, a, b)             SKEIN_DESC1_(a), SKEIN_DESC1_(b)
#define SKEIN_DESCS3(n, a, b, c)          SKEIN_DESCS2(n, a, b), SKEIN_DESC1_(c)
#define SKEIN_DESCS4(n, a, b, c, d)       SKEIN_DESCS3(n, a, b, c), SKEIN_DESC1_(d)
#define SKEIN_DESCS5(n, a, b, c, d, e)    SKEIN_DESCS4(n, a, b, c, d), SKEIN_DESC1_(e)
#define SKEIN_DESCS6(n, a, b, c, d, e, f) SKEIN_DESCS5(n, a, b, c, d, e), SKEIN_DESC1_(f)

#define SKEIN_SITE_(klass, group, ...)                                                             \
    {                                                                                              \
        0, SKEIN_NAME_(__VA_ARGS__), "", __FILE__, __LINE__, klass, group,                         \
            SKEIN_COUNT_(__VA_ARGS__),                                                             \
        {                                                                                          \
            SKEIN_DESCS_(__VA_ARGS__)                                                              \
        }                                                                                          \
    }

#define SKEIN_FIELD_(i, type, name, value)                                                         \
    const struct skein_field skein_field_##i = SKEIN_FIELD_##type(value);
#define SKEIN_COPY_(i, type, name, value) , skein_field_##i
#define SKEIN_FIELD_u64(value)            skein_field_of((uint64_t)(value), 0)
#define SKEIN_FIELD_i64(value)            skein_field_i64((int64_t)(value))
#define SKEIN_FIELD_f64(value)            skein_field_f64((double)(value))
#define SKEIN_FIELD_boolean(value)        skein_field_of((uint64_t)((value) ? 1 : 0), 0)
#define SKEIN_FIELD_ptr(value)            skein_field_of((uint64_t)(uintptr_t)(value), 0)
#define SKEIN_FIELD_str(value)            skein_field_str(value)
#define SKEIN_FIELD_sym(value)            skein_field_of((uint64_t)(uintptr_t)(value), SKEIN_FIELD_SYM_MARK)
#define SKEIN_FIELD_seq(value)            skein_field_seq(value)

#define SKEIN_NEED_(i, type, name, value) +SKEIN_NEED_##type(skein_field_##i)
#define SKEIN_NEED_u64(f)                 SKEIN_NUMBER_NEED
#define SKEIN_NEED_i64(f)                 SKEIN_NUMBER_NEED
#define SKEIN_NEED_f64(f)                 SKEIN_NUMBER_NEED
#define SKEIN_NEED_boolean(f)             SKEIN_NUMBER_NEED
#define SKEIN_NEED_ptr(f)                 SKEIN_NUMBER_NEED
#define SKEIN_NEED_str(f)                 SKEIN_NUMBER_NEED + ((f).b & (SKEIN_STR_CUT - 1))
#define SKEIN_NEED_sym(f)                 SKEIN_SYM_NEED
#define SKEIN_NEED_seq(f)                 2 * SKEIN_NUMBER_NEED

#define SKEIN_PUT_(i, type, name, value)                                                           \
    skein_record_.p = SKEIN_PUT_##type(skein_record_, skein_field_##i);
#define SKEIN_PUT_u64(r, f)     skein_put_leb((r).p, (f).a)
#define SKEIN_PUT_i64(r, f)     skein_put_leb((r).p, (f).a)
#define SKEIN_PUT_f64(r, f)     skein_put_f64((r).p, f)
#define SKEIN_PUT_boolean(r, f) skein_put_leb((r).p, (f).a)
#define SKEIN_PUT_ptr(r, f)     skein_put_leb((r).p, (f).a)
#define SKEIN_PUT_str(r, f)     skein_put_str((r).p, f)
#define SKEIN_PUT_sym(r, f)     skein_put_sym((r).lane, (r).p, f)
#define SKEIN_PUT_seq(r, f)     skein_put_leb(skein_put_leb((r).p, (f).a), (f).b)

/* Writes one record of `site`, by close(&record) or by the slow half; `keep` takes the scope. */
#define SKEIN_RECORD_(site, group, keep, close, ...)                                               \
    const struct skein_entry skein_entry_ = skein_enter();                                         \
    if (skein_wanted(skein_entry_, group)) {                                                       \
        SKEIN_EACH_(SKEIN_FIELD_, __VA_ARGS__)                                                     \
        struct skein_record skein_record_;                                                         \
        if (SKEIN_LIKELY(                                                                          \
                skein_record_open(&skein_record_, skein_entry_, &site,                             \
                                  SKEIN_RECORD_NEED SKEIN_EACH_(SKEIN_NEED_, __VA_ARGS__)))) {     \
            SKEIN_EACH_(SKEIN_PUT_, __VA_ARGS__)                                                   \
            keep close(&skein_record_);                                                            \
        } else {                                                                                   \
            const struct skein_field skein_all_[] = {                                              \
                {0, 0} SKEIN_EACH_(SKEIN_COPY_, __VA_ARGS__)};                                     \
            keep skein_slow_emit(&site, skein_all_ + 1);                                           \
        }                                                                                          \
    }

#define SKEIN_EVENT_(klass, group, ...)                                                            \
    do {                                                                                           \
        static struct skein_site skein_site_ = SKEIN_SITE_(klass, group, __VA_ARGS__);             \
        SKEIN_RECORD_(skein_site_, group, (void), skein_record_close, __VA_ARGS__)                 \
    } while (0)

#define SKEIN_REGION_(n, ...) SKEIN_REGION2_(n, __VA_ARGS__)
#define SKEIN_REGION2_(n, ...)                                                                     \
    static struct skein_site skein_site_##n =                                                      \
        SKEIN_SITE_(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP, __VA_ARGS__);                            \
    __attribute__((cleanup(skein_scope_leave), unused)) struct skein_scope skein_scope_##n =       \
        __extension__({                                                                            \
            struct skein_scope skein_begun_ = {0};                                                 \
            SKEIN_RECORD_(skein_site_##n, SKEIN_GROUP, skein_begun_ =, skein_record_close_begin,   \
                          __VA_ARGS__)                                                             \
            skein_begun_;                                                                          \
        })

#endif
