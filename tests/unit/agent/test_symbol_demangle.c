/* SPDX-License-Identifier: Apache-2.0
 * Names as C++ and Rust (v0 and legacy) mangle them, against what their compilers' documents say
 * they stand for, and names that are none. */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "symbol_demangle.h"
#include "symbol_wire.h"

static char *demangled(const char *name)
{
    struct buf b = {0};
    struct cursor c;
    size_t n;
    symbol_demangle_put(&b, name);
    ck_assert_int_eq(b.status, SKEIN_OK);
    cursor_init(&c, b.data, b.len);
    const char *text = cursor_text(&c, SYMBOL_TEXT_MAX, &n);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(cursor_left(&c), 0);
    char *out = malloc(n + 1); /* the text has no NUL, which strndup would look for */
    ck_assert_ptr_nonnull(out);
    memcpy(out, text, n);
    out[n] = '\0';
    buf_fini(&b);
    return out;
}

static void expect(const char *name, const char *want)
{
    char *got = demangled(name);
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(cpp_names_are_demangled)
{
    expect("_ZN4shop5visitEi", "shop::visit(int)");
    expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
           "std::vector<int, std::allocator<int> >::push_back(int const&)");
    expect("_ZN12_GLOBAL__N_16hiddenEv", "(anonymous namespace)::hidden()");
}
END_TEST

START_TEST(rust_names_are_demangled)
{
    /* legacy, with its hash left out */
    expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    /* v0, from RFC 2603 */
    expect("_RNvC7mycrate3foo", "mycrate::foo");
    expect("_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo");
    expect("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
}
END_TEST

START_TEST(other_names_stay_as_they_are)
{
    static const char *const names[] = {
        "main", "_start", "__libc_start_main", "_Znotamangledname$", "_R",
        "_Z",   "",       "foo.cold",          "epoll_wait"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], names[i]);
}
END_TEST

START_TEST(long_and_deep_names_are_cut_between_characters)
{
    char name[4000];
    for (size_t i = 0; i < sizeof name - 2; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[sizeof name - 2] = '\0';
    char *got = demangled(name);
    ck_assert_uint_le(strlen(got), SYMBOL_TEXT_MAX);
    ck_assert_str_eq(got + strlen(got) - 5, "\xc3\xa9...");
    free(got);
    strcpy(name, "_Z1fI"); /* a type in a type in a type … */
    for (size_t i = 5; i < sizeof name - 1; i++)
        name[i] = i % 2 == 0 ? 'P' : 'K';
    name[sizeof name - 1] = '\0';
    free(demangled(name));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("symbol_demangle", cpp_names_are_demangled, rust_names_are_demangled,
                              other_names_stay_as_they_are,
                              long_and_deep_names_are_cut_between_characters, NULL));
}
