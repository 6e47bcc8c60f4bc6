/* SPDX-License-Identifier: Apache-2.0
 * See symbol_chain.h. Each function notes where it returns to, which the walk has to find. */
#include "symbol_chain.h"

static int chain_small(struct chain *chain, unsigned depth);
static int chain_large(struct chain *chain, unsigned depth);
static int chain_varied(struct chain *chain, unsigned depth);

static int chain_next(struct chain *chain, unsigned depth) __attribute__((noinline));
static int chain_next(struct chain *chain, unsigned depth)
{
    /* Its frame stands between those of the others. */
    chain->returns[chain->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    switch (depth % 3) {
    case 0:
        return chain_small(chain, depth) + 1;
    case 1:
        return chain_large(chain, depth) + 2;
    default:
        return chain_varied(chain, depth) + 3;
    }
}

static __attribute__((noinline)) int chain_leaf(struct chain *chain)
{
    chain->returns[chain->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    getcontext(&chain->registers);
    chain->leaf(chain);
    return (int)chain->count;
}

static inline __attribute__((always_inline)) int chain_deeper(struct chain *chain, unsigned depth)
{
    return depth < chain->depth ? chain_next(chain, depth + 1) : chain_leaf(chain);
}

static __attribute__((noinline)) int chain_small(struct chain *chain, unsigned depth)
{
    chain->returns[chain->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    return chain_deeper(chain, depth) + 1;
}

static __attribute__((noinline)) int chain_large(struct chain *chain, unsigned depth)
{
    volatile char room[777];
    chain->returns[chain->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    room[depth] = (char)depth;
    return chain_deeper(chain, depth) + room[depth];
}

/* A frame whose size the compiler does not know has a frame pointer all the same. */
static __attribute__((noinline)) int chain_varied(struct chain *chain, unsigned depth)
{
    volatile char *room = __builtin_alloca(depth * 24 + 16);
    chain->returns[chain->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    room[depth] = (char)depth;
    return chain_deeper(chain, depth) + room[depth];
}

int chain_run(struct chain *chain)
{
    chain->count = 0;
    return chain_next(chain, 0) + 1;
}
