/* Runs a fuzz target on the files of its corpus, without libFuzzer: `TARGET DIRECTORY`.
 *
 * Speaks TAP, one case a file. A crash ends the output early, which counts as a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The buffer has exactly the size of the file, so that a sanitizer sees every read past its end. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;
    int result = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0)
        data = malloc(size > 0 ? (size_t)size : 1);
    if (data) {
        rewind(file);
        if (fread(data, 1, (size_t)size, file) == (size_t)size)
            result = LLVMFuzzerTestOneInput(data, (size_t)size);
    }
    free(data);
    if (file)
        fclose(file);
    return result;
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int failures = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    const int count = scandir(argv[1], &entries, is_visible, alphasort);
    if (count < 0) {
        perror(argv[1]);
        return 2;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
        const int result = replay(path);
        printf("%s %d - %s\n", result == 0 ? "ok" : "not ok", i + 1, entries[i]->d_name);
        fflush(stdout);
        failures += result != 0;
        free(entries[i]);
    }
    free(entries);
    return failures > 0;
}
