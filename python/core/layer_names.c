#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook_extras.h"
#include "hook_name.h"
#include "layers.h"

enum { LAYERS_MOST = 1 << 13, ROOTS_MOST = 64, BY_KIND_MOST = 256, LOOKS_MOST = 4 };
enum { KIND_TEXT = 120, ROOT_TEXT = KIND_TEXT + 16, PATH_TEXT = 1000 };

/* A module that was the outermost. */
struct root {
    PyObject *weak;
    PyObject *object;
    char kind[KIND_TEXT], text[ROOT_TEXT];
    unsigned number; /* of its class, from 1 on */
    unsigned looks;  /* how often its paths were found */
};

/* All layers of the process, which outlive a recording. */
static struct {
    PyObject *find;
    struct layer **slot; /* by address of the object: open addressing */
    unsigned slots, count;
    struct layer *by_kind[BY_KIND_MOST];
    unsigned by_kind_count;
    struct root root[ROOTS_MOST];
    unsigned roots;
} names;

void layer_names_init(PyObject *find)
{
    Py_XSETREF(names.find, Py_NewRef(find));
}

static const char *kind_of(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Its class, and whether it is compiled: torch.compile() of a module makes another one around it,
 * module.compile() sets an attribute. */
static bool describe(PyObject *object, char kind[static KIND_TEXT])
{
    static const char COMPILED[] = ", compiled"; /* snapshot_layers.c takes it off */
    const bool is_around = strcmp(kind_of(object), "OptimizedModule") == 0;
    PyObject *set = PyObject_GetAttrString(object, is_around ? "_orig_mod" : "_compiled_call_impl");
    const bool is_compiled = set && set != Py_None;
    snprintf(kind, KIND_TEXT, "%.*s%s", (int)(KIND_TEXT - sizeof COMPILED),
             kind_of(is_around && set ? set : object), is_compiled ? COMPILED : "");
    Py_XDECREF(set);
    hook_forget_error();
    return is_compiled;
}

/* Where a layer of this object is or may be put. There is room. */
static struct layer **slot_of(PyObject *object)
{
    uintptr_t at = ((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct layer **slot = &names.slot[at & (names.slots - 1)];
        if (!*slot || (*slot)->object == object)
            return slot;
    }
}

static bool make_room(void)
{
    if (names.count * 2 < names.slots)
        return true;
    if (names.count >= LAYERS_MOST)
        return false;
    struct layer **old = names.slot;
    const unsigned slots = names.slots;
    struct layer **grown = calloc(slots ? slots * 2 : 256, sizeof(struct layer *));
    if (!grown)
        return false;
    names.slot = grown;
    names.slots = slots ? slots * 2 : 256;
    for (unsigned i = 0; i < slots; i++)
        if (old[i])
            *slot_of(old[i]->object) = old[i];
    free(old);
    return true;
}

static void name_layer(struct layer *layer, const char *path, const char *kind)
{
    free(layer->path);
    free(layer->kind);
    layer->path = strndup(path, PATH_TEXT);
    layer->kind = strndup(kind, KIND_TEXT - 1);
    layer->forward = layer->backward = 0;
}

/* Which object has a path is decided by the first one that has it in this process. */
static void put_layer(PyObject *object, const char *path)
{
    char kind[KIND_TEXT];
    if (!make_room() || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
        return;
    struct layer **slot = slot_of(object);
    if (*slot && hook_instance_is((*slot)->weak, object))
        return;
    PyObject *weak = PyWeakref_NewRef(object, NULL);
    if (!weak || (!*slot && !(*slot = calloc(1, sizeof **slot)))) {
        Py_XDECREF(weak);
        return;
    }
    names.count += !(*slot)->object;
    (*slot)->object = object;
    Py_XSETREF((*slot)->weak, weak);
    (*slot)->is_compiled = describe(object, kind);
    name_layer(*slot, path, kind);
}

static struct layer *known(PyObject *object)
{
    struct layer *layer = names.slot ? *slot_of(object) : NULL;
    return layer && hook_instance_is(layer->weak, object) ? layer : NULL;
}

static bool is_taken(const char *kind, unsigned number)
{
    for (unsigned i = 0; i < names.roots; i++)
        if (names.root[i].number == number && strcmp(names.root[i].kind, kind) == 0 &&
            hook_instance_is(names.root[i].weak, names.root[i].object))
            return true;
    return false;
}

static struct root *unused_root(void)
{
    for (unsigned i = 0; i < names.roots; i++)
        if (!hook_instance_is(names.root[i].weak, names.root[i].object))
            return &names.root[i];
    return names.roots < ROOTS_MOST ? &names.root[names.roots++] : NULL;
}

/* "Net" is the first one of its class that is alive, "Net#2" the next. */
static void name_root(struct root *root, const char *kind)
{
    unsigned number = 1;
    root->number = 0;
    while (number <= ROOTS_MOST && is_taken(kind, number))
        number++;
    root->number = number;
    snprintf(root->kind, sizeof root->kind, "%.*s", KIND_TEXT - 1, kind);
    if (number == 1)
        snprintf(root->text, sizeof root->text, "%s", root->kind);
    else
        snprintf(root->text, sizeof root->text, "%s#%u", root->kind, number);
}

static struct root *add_root(PyObject *object)
{
    PyObject *weak = PyWeakref_NewRef(object, NULL);
    struct root *root = weak ? unused_root() : NULL;
    if (!root) {
        Py_XDECREF(weak);
        return NULL;
    }
    Py_XSETREF(root->weak, weak);
    root->object = object;
    root->looks = 0;
    name_root(root, kind_of(object));
    return root;
}

static struct root *root_of(PyObject *object)
{
    for (unsigned i = 0; i < names.roots; i++)
        if (names.root[i].object == object && hook_instance_is(names.root[i].weak, object))
            return &names.root[i];
    return NULL;
}

static void put_pair(const struct root *root, PyObject *pair)
{
    char path[PATH_TEXT];
    PyObject *object =
        PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 ? PyTuple_GET_ITEM(pair, 0) : NULL;
    const char *below = object ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(pair, 1)) : NULL;
    if (!below)
        return;
    snprintf(path, sizeof path, "%s%s%s", root->text, *below ? "." : "", below);
    put_layer(object, path);
}

static void look(struct root *root)
{
    PyObject *found = names.find ? PyObject_CallOneArg(names.find, root->object) : NULL;
    const char *kind;
    PyObject *pairs;
    if (found && PyArg_ParseTuple(found, "sO!", &kind, &PyList_Type, &pairs)) {
        if (root->looks == 0)
            name_root(root, kind);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++)
            put_pair(root, PyList_GET_ITEM(pairs, i));
    }
    root->looks++;
    Py_XDECREF(found);
    hook_forget_error();
    put_layer(root->object, root->text);
    hook_forget_error();
}

void layer_names_add(PyObject *module)
{
    struct root *root = root_of(module);
    if (!known(module) && !root)
        root = add_root(module);
    if (root && root->looks < LOOKS_MOST)
        look(root);
    hook_forget_error();
}

/* Of an object that is in no outermost module, as a loss that is made for each call. */
static struct layer *find_by_kind(PyObject *object, struct layer *around)
{
    char path[PATH_TEXT];
    const char *kind = kind_of(object);
    for (unsigned i = 0; i < names.by_kind_count; i++)
        if (names.by_kind[i]->around == around && strcmp(names.by_kind[i]->kind, kind) == 0)
            return names.by_kind[i];
    struct layer *layer = names.by_kind_count < BY_KIND_MOST ? calloc(1, sizeof *layer) : NULL;
    if (!layer)
        return NULL;
    snprintf(path, sizeof path, "%s.%s", around->path ? around->path : "", kind);
    layer->around = around;
    name_layer(layer, path, kind);
    names.by_kind[names.by_kind_count++] = layer;
    return layer;
}

/* A path begins with the text of its root. */
static bool look_again(const struct layer *around)
{
    bool looked = false;
    for (unsigned i = 0; i < names.roots; i++) {
        struct root *root = &names.root[i];
        const size_t bytes = strlen(root->text);
        if (root->looks < LOOKS_MOST && hook_instance_is(root->weak, root->object) &&
            around->path && strncmp(around->path, root->text, bytes) == 0 &&
            (around->path[bytes] == '.' || around->path[bytes] == '\0')) {
            look(root);
            looked = true;
        }
    }
    return looked;
}

struct layer *layer_names_find(PyObject *object, struct layer *around, bool *made)
{
    struct layer *layer = known(object);
    *made = false;
    if (layer)
        return layer;
    *made = around ? look_again(around) : true;
    if (!around)
        layer_names_add(object);
    layer = known(object);
    return layer || !around || around->is_compiled ? layer : find_by_kind(object, around);
}

bool layer_is_wrapped(const struct layer *layer, const struct layer *around)
{
    return around && layer->path && around->path && strcmp(layer->path, around->path) == 0;
}

static ss_name intern(const struct layer *layer, enum ss_stage stage)
{
    return ss_intern(layer->path ? layer->path : "", stage, SS_ROLE_NONE, SS_SCOPE_NONE,
                     layer->kind);
}

ss_name layer_forward(struct layer *layer)
{
    if (!layer->forward)
        layer->forward = intern(layer, SS_STAGE_FORWARD);
    return layer->forward;
}

ss_name layer_backward(struct layer *layer)
{
    if (!layer->backward)
        layer->backward = intern(layer, SS_STAGE_BACKWARD);
    return layer->backward;
}
