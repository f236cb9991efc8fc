#include "import/xplane_layer.h"

#include <string.h>

/* A component of a path: up to the next slash that is in no brackets. */
struct component {
    const char *text;
    size_t size;
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_node(char c)
{
    return is_word(c) || strchr("./\\->", c);
}

bool xplane_layer_is_operation(const char *name)
{
    const char *at = name;

    if (!is_word(*at) && *at != '.')
        return false;
    while (*at && is_node(*at))
        at++;
    if (at[0] != ':' || !is_word(at[1]))
        return false;
    for (at++; *at && is_word(*at); at++)
        ;
    return *at == '\0';
}

static struct component next_component(const char *at, const char *end)
{
    struct component out = {at, 0};
    unsigned depth = 0;

    for (; at < end && (*at != '/' || depth > 0); at++) {
        depth += *at == '(';
        depth -= *at == ')' && depth > 0;
    }
    out.size = (size_t)(at - out.text);
    return out;
}

static bool is(const struct component *component, const char *text)
{
    return component->size == strlen(text) && memcmp(component->text, text, component->size) == 0;
}

static bool is_numbered(const struct component *component, const char *start)
{
    const size_t size = strlen(start);

    if (component->size <= size || memcmp(component->text, start, size) != 0)
        return false;
    for (size_t i = size; i < component->size; i++)
        if (component->text[i] < '0' || component->text[i] > '9')
            return false;
    return true;
}

/* What is around the model, not in it: how it is called, and for which pass and replica. */
static bool is_around(const struct component *component)
{
    return component->size == 0 || is(component, "StatefulPartitionedCall") ||
           is(component, "PartitionedCall") || is(component, "gradient_tape") ||
           is(component, "while") || is(component, "body") ||
           is_numbered(component, "StatefulPartitionedCall_") || is_numbered(component, "replica_");
}

/* "transpose(jvp(Net))" is Net, "jvp()" nothing, and so is "jit(step)", the program itself. */
static struct component unwrap(struct component component)
{
    while (component.size > 0 && component.text[component.size - 1] == ')') {
        const char *open = memchr(component.text, '(', component.size);
        if (!open)
            break;
        const struct component how = {component.text, (size_t)(open - component.text)};
        component.size -= how.size + 2;
        component.text = open + 1;
        if (is(&how, "jit") || is(&how, "pjit") || is(&how, "pmap"))
            component.size = 0;
    }
    return component;
}

static size_t add(char *out, size_t size, size_t length, const struct component *component)
{
    const size_t slash = length > 0;

    if (component->size == 0)
        return length;
    if (length + slash + component->size >= size)
        return 0;
    if (slash)
        out[length] = '/';
    memcpy(out + length + slash, component->text, component->size);
    return length + slash + component->size;
}

/* All components but the last, which is the operation itself. */
static size_t path_of(const char *name, const char *end, bool is_source, char *out, size_t size)
{
    size_t length = 0;
    bool is_inside = false;

    for (const char *at = name; at < end;) {
        struct component component = next_component(at, end);
        at = component.text + component.size + 1;
        if (at > end) /* the last one */
            break;
        if (is_source)
            component = unwrap(component);
        else if (!is_inside && is_around(&component))
            continue;
        is_inside = true;
        const size_t longer = add(out, size, length, &component);
        if (longer == 0 && component.size > 0)
            return 0;
        length = longer;
    }
    out[length] = '\0';
    return length;
}

size_t xplane_layer_of_operation(const char *name, char *out, size_t size)
{
    const char *colon = strchr(name, ':');

    return colon && colon[1] != ':' ? path_of(name, colon, false, out, size) : 0;
}

size_t xplane_layer_of_source(const char *name, char *out, size_t size)
{
    return path_of(name, name + strlen(name), true, out, size);
}
