#include "got_patch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = -1, GLOB_DAT = -1 }; /* none is ever found */
#endif

struct search {
    const char *library, *symbol;
    struct got_patch *got;
    char *path;
};

struct tables { /* the dynamic section of a library, as addresses */
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2];
    size_t counts[2];
};

/* glibc has made addresses of most entries, other loaders have not. */
static const void *address_of(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    const ElfW(Addr) address = value < info->dlpi_addr ? value + info->dlpi_addr : value;
    return (const void *)address; /* NOLINT: an address of the loader's */
}

static void read_entry(const struct dl_phdr_info *info, const ElfW(Dyn) * entry,
                       struct tables *tables)
{
    switch (entry->d_tag) {
    case DT_SYMTAB:
        tables->symbols = address_of(info, entry->d_un.d_ptr);
        break;
    case DT_STRTAB:
        tables->names = address_of(info, entry->d_un.d_ptr);
        break;
    case DT_JMPREL:
        tables->relocations[0] = address_of(info, entry->d_un.d_ptr);
        break;
    case DT_PLTRELSZ:
        tables->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    case DT_RELA:
        tables->relocations[1] = address_of(info, entry->d_un.d_ptr);
        break;
    case DT_RELASZ:
        tables->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
    default:
        break;
    }
}

static void read_dynamic(const struct dl_phdr_info *info, struct tables *tables)
{
    memset(tables, 0, sizeof *tables);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            const ElfW(Dyn) *entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            for (; entry->d_tag != DT_NULL; entry++)
                read_entry(info, entry, tables);
        }
    }
}

/* The loader protects whole pages: what lies in the one that the part ends in stays writable. */
static bool is_protected(const struct dl_phdr_info *info, const void *address)
{
    const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const ElfW(Addr) start = info->dlpi_addr + part->p_vaddr;
        const ElfW(Addr) end = (start + part->p_memsz) & ~(page - 1);
        if (part->p_type == PT_GNU_RELRO && (ElfW(Addr))address >= start &&
            (ElfW(Addr))address < end)
            return true;
    }
    return false;
}

static bool is_inside(const struct dl_phdr_info *info, ElfW(Word) type, const void *address)
{
    const ElfW(Addr) offset = (ElfW(Addr))address - info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == type && offset - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

static void add_slots(struct search *search, const struct dl_phdr_info *info)
{
    struct tables tables;
    struct got_patch *got = search->got;
    read_dynamic(info, &tables);
    for (int t = 0; tables.symbols && tables.names && t < 2; t++) {
        const ElfW(Rela) *relocation = tables.relocations[t];
        for (size_t i = 0; relocation && i < tables.counts[t]; i++, relocation++) {
            const int type = (int)ELF64_R_TYPE(relocation->r_info);
            const size_t symbol = ELF64_R_SYM(relocation->r_info);
            if ((type != JUMP_SLOT && type != GLOB_DAT) || got->count == GOT_PATCH_SLOTS ||
                strcmp(tables.names + tables.symbols[symbol].st_name, search->symbol))
                continue;
            void **slot = (void **)(info->dlpi_addr + relocation->r_offset);
            got->slots[got->count] = slot;
            got->is_read_only[got->count] = is_protected(info, slot);
            got->before[got->count++] = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        }
    }
}

/* What the slot leads to: the function itself, unless another library patched it or it is not bound
 * yet. */
static void *function_behind(const struct search *search, const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < search->got->count; i++) {
        void *value = search->got->before[i];
        if (value && !is_inside(info, PT_LOAD, value))
            return value;
    }
    return NULL;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, search->library))
        return 0;
    add_slots(search, info);
    search->path = strdup(info->dlpi_name);
    search->got->function = function_behind(search, info);
    return 1;
}

const char *got_patch_find(struct got_patch *got, const char *library, const char *symbol)
{
    struct search search = {.library = library, .symbol = symbol, .got = got};
    memset(got, 0, sizeof *got);
    if (!dl_iterate_phdr(look_at, &search))
        return "its library is not loaded";
    got->library = search.path ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    free(search.path);
    if (!got->library)
        return "its library cannot be kept loaded";
    if (!got->function)
        got->function = dlsym(RTLD_DEFAULT, symbol);
    if (!got->function)
        got->function = dlsym(got->library, symbol);
    const char *reason = !got->count      ? "the library does not call it through a slot"
                         : !got->function ? "there is no such function"
                                          : NULL;
    if (reason)
        got_patch_release(got);
    return reason;
}

static bool store(const struct got_patch *got, unsigned i, void *value)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)got->slots[i] & ~(page - 1));
    if (got->is_read_only[i] && mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(got->slots[i], value, __ATOMIC_RELEASE);
    if (got->is_read_only[i])
        mprotect(start, page, PROT_READ);
    return true;
}

/* As we found it, as the loader bound it since, or ours already. */
static bool is_known(const struct got_patch *got, unsigned i)
{
    const void *now = __atomic_load_n(got->slots[i], __ATOMIC_ACQUIRE);
    return now == got->before[i] || now == got->function || now == got->replacement;
}

const char *got_patch_apply(struct got_patch *got, void *replacement)
{
    got->replacement = replacement;
    for (unsigned i = 0; i < got->count; i++)
        if (!is_known(got, i))
            return "something else replaced it since";
    for (unsigned i = 0; i < got->count; i++) {
        if (!store(got, i, replacement)) {
            while (i-- > 0)
                store(got, i, got->before[i]);
            return "the slot cannot be made writable";
        }
    }
    return NULL;
}

bool got_patch_check(struct got_patch *got)
{
    bool is_ours = true;
    for (unsigned i = 0; i < got->count; i++) {
        void *now = __atomic_load_n(got->slots[i], __ATOMIC_ACQUIRE);
        if (now == got->function || now == got->before[i])
            store(got, i, got->replacement);
        else if (now != got->replacement)
            is_ours = false;
    }
    return is_ours;
}

bool got_patch_restore(struct got_patch *got)
{
    bool is_ours = true;
    for (unsigned i = 0; i < got->count; i++) {
        void *now = __atomic_load_n(got->slots[i], __ATOMIC_ACQUIRE);
        is_ours = now == got->replacement && store(got, i, got->before[i]) && is_ours;
    }
    return is_ours;
}

void got_patch_release(struct got_patch *got)
{
    if (got->library)
        dlclose(got->library);
    got->library = NULL;
}
