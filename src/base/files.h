/* Files and directories: small files that one side writes while another may read, whole trees, new
 * directories, paths that fit a pattern. What can fail returns 0 or an errno. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Appends at most `most` bytes of it; nothing if it is not there, a link or no file at all. 0, or
 * errno of a file that is there and cannot be read: then what was appended is not all. */
int small_file_read(const char *path, size_t most, struct buf *out);

/* Under another name first, then renamed, so that a reader sees all of it or nothing. Mode 0600;
 * replaces a file of that name, and opens nothing that is there. `dir` is a descriptor of the
 * directory. 0 or errno, also of a text that has failed. */
int small_file_write_at(int dir, const char *name, const struct buf *text);
int small_file_write(const char *dir, const char *name, const struct buf *text);

/* A directory with all that is in it. Links are never followed. */

/* What it takes on the disk. 0, or an errno of the first thing that could not be looked at: then it
 * takes more. */
int file_tree_bytes(const char *path, uint64_t *bytes);

/* Removes it. 0 or an errno, of the first that could not be removed; what can be removed is. */
int file_tree_remove(const char *path);

/* Directories that are made with those above them, or under a name that is free. */

/* Makes a directory with those above it. One that is there is as good; `is_new` (may be NULL) says
 * whether it was made. 0 or an errno. */
int make_dir_all(const char *path, bool *is_new);

/* Makes a directory of a name that is free: `path`, `path`-2, `path`-3 ..., and puts it into
 * `path`. Those above it must be there. 0 or an errno. */
int make_dir_new(struct buf *path, mode_t mode);

/* Paths that fit a pattern: what glob() is for, which frees memory twice when there is none left,
 * and in which the name of a folder may be taken for a pattern. */

/* Whether to go on. */
typedef bool path_visit(void *context, const char *path);

/* Visits what is below `folder` and fits `pattern`, "bin/python3.[0-9]*", in the order of names;
 * the folder is called as it is called. Ends early if the visitor wants it, or without memory. */
void path_match(const char *folder, const char *pattern, path_visit *visit, void *context);

/* Adds the real path of the first that fits one of these patterns, below the folder of our
 * executable; nothing if there is none. */
void path_find_beside_us(const char *const *patterns, size_t count, struct buf *out);

#endif
