#include "frames_memory.h"

#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "base/text.h"

enum { NO_FILE = -1, LOWEST_FILE = 100 };

/* How this process reads its memory. */
static struct {
    bool has_readv;
    int file; /* NO_FILE: it needs none */
    dev_t file_device;
    ino_t file_number;
    pid_t process; /* asking for it would be a second system call */
} memory = {.file = NO_FILE};

static bool gather_by_call(const struct memory_piece *pieces, size_t count)
{
    struct iovec local[MEMORY_PIECES_MAX], remote[MEMORY_PIECES_MAX];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){pieces[i].copy, pieces[i].bytes};
        remote[i] = (struct iovec){(void *)pieces[i].address, pieces[i].bytes};
        total += pieces[i].bytes;
    }
    const ssize_t got = process_vm_readv(memory.process, local, count, remote, count, 0);
    return got >= 0 && (size_t)got == total;
}

/* A program that closes all descriptors may have given our number to a file of its own. */
static bool file_is_ours(void)
{
    struct stat status;
    return memory.file != NO_FILE && fstat(memory.file, &status) == 0 &&
           status.st_dev == memory.file_device && status.st_ino == memory.file_number;
}

static bool gather_by_file(const struct memory_piece *pieces, size_t count)
{
    if (!file_is_ours())
        return false;
    for (size_t i = 0; i < count; i++) {
        const ssize_t got =
            pread(memory.file, pieces[i].copy, pieces[i].bytes, (off_t)pieces[i].address);
        if (got < 0 || (size_t)got != pieces[i].bytes)
            return false;
    }
    return true;
}

bool memory_gather(const struct memory_piece *pieces, size_t count)
{
    if (count > MEMORY_PIECES_MAX)
        return false;
    return memory.has_readv ? gather_by_call(pieces, count)
                            : memory.file != NO_FILE && gather_by_file(pieces, count);
}

bool memory_read(uintptr_t address, void *copy, size_t bytes)
{
    const struct memory_piece piece = {address, copy, bytes};
    return memory_gather(&piece, 1);
}

void memory_close(void)
{
    memory.has_readv = false;
    if (file_is_ours())
        close(memory.file);
    memory.file = NO_FILE;
}

/* High, since programs count on low descriptor numbers; -1: none is free. */
static int open_high(const char *path)
{
    const int low = open(path, O_RDONLY | O_CLOEXEC);
    if (low < 0)
        return NO_FILE;
    const int high = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FILE);
    close(low);
    return high;
}

static void open_file(void)
{
    struct stat status;
    memory.file = open_high("/proc/self/mem");
    if (memory.file == NO_FILE || fstat(memory.file, &status) != 0)
        return;
    memory.file_device = status.st_dev;
    memory.file_number = status.st_ino;
}

/* A file that is open from before a fork shows the memory of the parent: it is opened again. */
const char *memory_open(void)
{
    const int error_number = errno;
    const int known = NO_FILE;
    int copy = 0;
    memory_close();
    memory.process = getpid();
    memory.has_readv = !risky_call_kills(RISKY_OWN_MEMORY);
    if (!memory_read((uintptr_t)&known, &copy, sizeof copy) || copy != known) {
        memory.has_readv = false;
        open_file();
        if (!memory_read((uintptr_t)&known, &copy, sizeof copy) || copy != known)
            memory_close();
    }
    errno = error_number;
    return memory.has_readv || memory.file != NO_FILE
               ? NULL
               : "neither process_vm_readv() nor /proc/self/mem is available here";
}

/* Texts. */

static uint32_t character_at(const unsigned char *data, unsigned kind, size_t index)
{
    uint32_t character = 0;
    memcpy(&character, data + index * kind, kind);
    const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    return is_surrogate || character > 0x10ffff || character == 0 ? UTF8_REPLACEMENT : character;
}

/* `kind` is the size of a character, and so is its number in PyUnicode. */
static char *encode(const unsigned char *data, unsigned kind, size_t length, size_t most)
{
    char *out = malloc(most + 1);
    size_t used = 0;
    for (size_t i = 0; out && i < length && used + UTF8_MAX_BYTES <= most; i++)
        used += utf8_put(out + used, character_at(data, kind, i));
    if (out)
        out[used] = '\0';
    return out;
}

char *text_copy(uintptr_t object, size_t most, struct text_place *place)
{
    PyCompactUnicodeObject head;
    if (!memory_read(object, &head, sizeof(PyASCIIObject)))
        return NULL;
    const PyASCIIObject *text = &head._base;
    const unsigned kind = text->state.kind;
    if (text->ob_base.ob_type != &PyUnicode_Type || !text->state.compact || text->length < 0 ||
        (kind != 1 && kind != 2 && kind != 4))
        return NULL;
    const size_t length = (size_t)text->length < most ? (size_t)text->length : most;
    place->address =
        object + (text->state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject));
    place->bytes = length * kind;
    unsigned char *data = malloc(place->bytes + 1);
    char *out = NULL;
    if (data && memory_read(place->address, data, place->bytes))
        out = encode(data, kind, length, most + UTF8_MAX_BYTES);
    free(data);
    return out;
}

unsigned char *text_copy_bytes(uintptr_t object, size_t most, struct text_place *place)
{
    PyBytesObject head;
    const size_t before = offsetof(PyBytesObject, ob_sval);
    if (!memory_read(object, &head, before) || head.ob_base.ob_base.ob_type != &PyBytes_Type ||
        head.ob_base.ob_size < 0 || (size_t)head.ob_base.ob_size > most)
        return NULL;
    place->address = object + before;
    place->bytes = (size_t)head.ob_base.ob_size;
    unsigned char *out = malloc(place->bytes + 1);
    if (out && !memory_read(place->address, out, place->bytes)) {
        free(out);
        out = NULL;
    }
    return out;
}
