/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Nothing here may be a tail call.
 */
#include "walk_subject.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned kept;
static walk_leaf *sorted_leaf;

#define STAYS __attribute__((noinline))

STAYS void walk_plain(walk_leaf *leaf)
{
    leaf();
    kept++;
}

STAYS void walk_deep(walk_leaf *leaf, unsigned depth)
{
    volatile char room[48];
    room[depth % sizeof room] = 1;
    if (depth == 0)
        leaf();
    else
        walk_deep(leaf, depth - 1);
    kept += (unsigned)room[depth % sizeof room];
}

STAYS void walk_alloca(walk_leaf *leaf, unsigned bytes)
{
    char *room = alloca(bytes);
    memset(room, 1, bytes);
    leaf();
    kept += (unsigned)room[bytes / 2];
}

STAYS void walk_aligned(walk_leaf *leaf, unsigned bytes)
{
    _Alignas(64) volatile char room[128];
    char *more = alloca(bytes);
    memset(more, 2, bytes);
    room[bytes % sizeof room] = more[0];
    leaf();
    kept += (unsigned)room[bytes % sizeof room];
}

static STAYS int compare(const void *a, const void *b)
{
    if (sorted_leaf != NULL) {
        walk_leaf *leaf = sorted_leaf;
        sorted_leaf = NULL;
        leaf();
    }
    return *(const int *)a - *(const int *)b;
}

STAYS void walk_sorted(walk_leaf *leaf)
{
    int numbers[] = {3, 1, 2, 5, 4};
    sorted_leaf = leaf;
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    kept += (unsigned)numbers[0];
}

STAYS void walk_many_registers(walk_leaf *leaf)
{
    unsigned a = kept, b = a * 3, c = b ^ a, d = c + 7, e = d * b, f = e ^ c;
    leaf();
    kept = a ^ b ^ c ^ d ^ e ^ f;
    leaf();
    kept = (a + b) * (c + d) * (e + f);
}

#if defined(__x86_64__)
/* As code is that was made at run time: no table says where its caller is. */
__asm__(".text\n"
        ".globl walk_without_rules\n.type walk_without_rules, @function\n"
        "walk_without_rules:\n"
        "push %rbp\nmov %rsp, %rbp\nsub $32, %rsp\ncall *%rdi\nleave\nret\n"
        ".size walk_without_rules, .-walk_without_rules\n"
        ".globl walk_lost\n.type walk_lost, @function\n"
        "walk_lost:\n"
        "push %rbp\nmov $12345, %rbp\nsub $32, %rsp\ncall *%rdi\nadd $32, %rsp\npop %rbp\nret\n"
        ".size walk_lost, .-walk_lost\n"
        ".globl walk_astray\n.type walk_astray, @function\n"
        "walk_astray:\n"
        "push %rbp\nmov %rsi, %rbp\nsub $16, %rsp\ncall *%rdi\nadd $16, %rsp\npop %rbp\nret\n"
        ".size walk_astray, .-walk_astray\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");
#endif
