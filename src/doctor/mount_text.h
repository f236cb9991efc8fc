/* The list of mounts, /proc/self/mountinfo, as text in, words out. Nothing in it is trusted. */
#ifndef DOCTOR_MOUNT_TEXT_H
#define DOCTOR_MOUNT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The type of the file system that holds an absolute path without links: "ext4". Of several mounts
 * over one another the last one counts. False: no line fits, and `type` is empty. */
bool mount_text_type(const char *mounts, const char *path, char *type, size_t size);

#endif
