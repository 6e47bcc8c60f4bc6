/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the table of real functions. Each is looked up when it is first called: a process of a
 * millisecond calls few of them. Any thread may look up at any time, also in a signal handler, or
 * while another thread loads a library and holds the dynamic linker's lock; lookups race harmlessly
 * because they all find the same address. Never allocates, never locks.
 *
 * dlsym(RTLD_NEXT) would take that lock: a library's constructor that waits for a thread which
 * makes its first call would wait for ever. So the libraries that were loaded with the program are
 * walked here, in the order that dlsym() would, from the one after this. They stay loaded as long
 * as the program runs, and what is loaded later comes after them: of that nothing is remembered,
 * for it may be unloaded, and loaded again elsewhere.
 */
#include "preload_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "bound.h"
#include "placement.h"

#define NAME_MAX_BYTES 32
#define VERSION_HIDDEN 0x8000 /* of a symbol's version: an old one, for programs that ask for it */

/* Aligned as its members are: what else lies in the page has no byte to spare. */
void *real_table[REAL_COUNT] BESIDE_DATA __attribute__((aligned(sizeof(void *))));

/* The last of the libraries that stay; NULL: not known yet. */
static const struct link_map *last_of_start BESIDE_DATA;

/* Bytes, not pointers: these would have to be relocated in each process. */
static const char names[REAL_COUNT][NAME_MAX_BYTES] = {
#define X(name) [REAL_##name] = #name,
    REAL_LIST(X)
#undef X
};

static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* What a library exports, by its dynamic section. */
struct exports {
    ElfW(Addr) base;
    const uint32_t *hash; /* DT_GNU_HASH */
    const ElfW(Sym) * symbols;
    const char *texts;
    const ElfW(Half) * versions; /* NULL: none */
};

/* The dynamic linker relocates these in place, except where the section is read-only. */
static const void *at(const struct link_map *library, ElfW(Addr) value)
{
    return (const void *)(value < library->l_addr ? library->l_addr + value : value);
}

static bool exports_of(const struct link_map *library, struct exports *out)
{
    memset(out, 0, sizeof *out);
    out->base = library->l_addr;
    for (const ElfW(Dyn) *entry = library->l_ld; entry != NULL && entry->d_tag != DT_NULL;
         entry++) {
        if (entry->d_tag == DT_GNU_HASH)
            out->hash = at(library, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_SYMTAB)
            out->symbols = at(library, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            out->texts = at(library, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_VERSYM)
            out->versions = at(library, entry->d_un.d_ptr);
    }
    return out->hash != NULL && out->symbols != NULL && out->texts != NULL;
}

static bool is_wanted(const struct exports *e, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbol = &e->symbols[i];
    return symbol->st_shndx != SHN_UNDEF &&
           !(e->versions != NULL && e->versions[i] & VERSION_HIDDEN) &&
           strcmp(e->texts + symbol->st_name, name) == 0;
}

/* The symbol's place in the table of symbols; 0: not there. The layout is the linker's: counts of
 * buckets, of the first symbol, and of words of a filter, its shift; filter, buckets, chains. */
static uint32_t symbol_find(const struct exports *e, const char *name, uint32_t hash)
{
    const uint32_t *head = e->hash;
    const ElfW(Addr) *filter = (const void *)(head + 4);
    const uint32_t *buckets = (const void *)(filter + head[2]), *chains = buckets + head[0];
    const unsigned bits = 8 * sizeof *filter;
    if (head[0] == 0 || head[2] == 0)
        return 0;
    ElfW(Addr) word = filter[hash / bits % head[2]];
    if (!(word >> hash % bits & word >> (hash >> head[3]) % bits & 1))
        return 0;
    uint32_t i = buckets[hash % head[0]];
    if (i < head[1])
        return 0;
    for (;; i++) {
        uint32_t other = chains[i - head[1]];
        if ((other | 1) == (hash | 1) && is_wanted(e, i, name))
            return i;
        if (other & 1) /* the last of its bucket */
            return 0;
    }
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static const struct link_map *own_library(void)
{
    const struct link_map *library = _r_debug.r_map;
    while (library != NULL && library->l_ld != _DYNAMIC)
        library = library->l_next;
    return library;
}

static const struct link_map *library_after(const struct link_map *library)
{
    return library == NULL || library == last_of_start ? NULL : library->l_next;
}

/* Of one library and those after it that stay. NULL also for one in a form that only the dynamic linker
 * can judge: without this hash, a library may have the name all the same. */
static void *libraries_look(const struct link_map *library, const char *name, unsigned type)
{
    uint32_t hash = hash_of(name);
    for (; library != NULL; library = library_after(library)) {
        struct exports e;
        if (!exports_of(library, &e))
            return NULL;
        uint32_t i = symbol_find(&e, name, hash);
        if (i == 0)
            continue;
        if ((e.symbols[i].st_info & 0xf) != type)
            return NULL;
        return (void *)(e.base + e.symbols[i].st_value);
    }
    return NULL;
}

void *real_look(const char *name)
{
    return libraries_look(library_after(own_library()), name, STT_FUNC);
}

void real_libraries_are_here(void)
{
    const struct link_map *library = _r_debug.r_map;
    while (library != NULL && library->l_next != NULL)
        library = library->l_next;
    last_of_start = library;
}

/* What is looked for among all that is loaded at this moment. */
struct search {
    const char *name;
    void *found;
};

/* Called while no library can be unloaded. */
static int object_search_in(struct dl_phdr_info *about, size_t bytes, void *context)
{
    (void)bytes;
    struct search *search = context;
    struct link_map library = {.l_addr = about->dlpi_addr};
    struct exports e;
    for (size_t i = 0; i < about->dlpi_phnum; i++)
        if (about->dlpi_phdr[i].p_type == PT_DYNAMIC)
            library.l_ld = (ElfW(Dyn) *)(about->dlpi_addr + about->dlpi_phdr[i].p_vaddr);
    if (library.l_ld == _DYNAMIC || !exports_of(&library, &e))
        return 0;
    uint32_t i = symbol_find(&e, search->name, hash_of(search->name));
    if (i != 0 && (e.symbols[i].st_info & 0xf) == STT_FUNC)
        search->found = (void *)(e.base + e.symbols[i].st_value);
    return search->found != NULL;
}

static void *loaded_search(const char *name)
{
    struct search search = {name, NULL};
    dl_iterate_phdr(object_search_in, &search);
    return search.found;
}

/* Set while this thread is inside dlsym(), which may lock or allocate through our wrappers. */
static __thread bool resolving;

static void *linker_ask(const char *name)
{
    if (resolving)
        return (void *)missing;
    int saved = errno;
    resolving = true;
    void *address = dlsym(RTLD_NEXT, name);
    if (address == NULL)
        dlerror(); /* what this libc lacks must not show up in the program's own dlerror() */
    resolving = false;
    errno = saved;
    return address;
}

void *real_find(enum real_index index)
{
    void *address = real_look(names[index]);
    /* The one that is of no library that all programs have: not remembered. */
    if (address == NULL && index == REAL_io_getevents &&
        (address = loaded_search(names[index])) != NULL)
        return address;
    if (address == NULL) {
        address = linker_ask(names[index]);
        if (resolving)
            return address; /* not remembered: it only answers who asks from within dlsym() */
    }
    if (address == NULL)
        address = (void *)missing;
    __atomic_store_n(&real_table[index], address, __ATOMIC_RELAXED);
    return address;
}

void real_find_all(void)
{
    for (int i = 0; i < REAL_COUNT; i++) {
        if (__atomic_load_n(&real_table[i], __ATOMIC_RELAXED) != NULL)
            continue;
        void *address = real_look(names[i]);
        if (address != NULL)
            __atomic_store_n(&real_table[i], address, __ATOMIC_RELAXED);
    }
}

/* The program has it where it names it itself (a copy relocation); else the C library. Not remembered:
 * who asks is a fork child, most often, and would pay for the page. */
char **real_environ(void)
{
    int saved = errno;
    char ***place = libraries_look(_r_debug.r_map, "environ", STT_OBJECT);
    if (place == NULL)
        place = dlsym(RTLD_DEFAULT, "environ");
    errno = saved;
    return *place;
}
