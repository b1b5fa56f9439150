/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked: a function with a check of its argument or of its result. Encoders and decoders of typed topics are such functions:
 * msgspec encodes objects without comparing them with a schema, and decodes without the ranges of a schema's types.
 *
 * A check is a tree of nodes with the shape of the schema. Its depth is that of the schema, whatever the objects contain. It
 * compares classes exactly, so that most comparisons run no code of the program. Attributes and predicates may run any code:
 * each container is held while its parts are checked, and a container that changes its size meanwhile does not fit. A check
 * may refuse what fits, and accepts nothing that does not fit: `otherwise` gets what it refuses.
 */
#include "native.h"

#include <math.h>
#include <string.h>

enum how { CLASS, INT, FLOAT, SIZE, ZONE, MEMBER, TEST, OPTIONAL, ITEMS, VALUES, KEYS, SLOTS, DICT, ATTRIBUTES };

struct node {
    enum how how;
    PyTypeObject *cls; /* the exact class; NULL for OPTIONAL and ITEMS */
    PyObject *object;  /* ZONE: the tzinfo, or None for any; MEMBER: a frozenset; TEST: a predicate */
    long long lowest;
    unsigned long long highest;
    double largest;
    Py_ssize_t least, most; /* of SIZE and ITEMS; most -1: no limit. KEYS: most is the number of keys, or -1 for any */
    int flag;               /* FLOAT: finite; SIZE: no zero at the end */
    PyObject *name;         /* of a field, interned */
    Py_ssize_t offset;      /* of a field of SLOTS in its object */
    struct node *parts;     /* the item, or fields */
    Py_ssize_t count;
};

typedef struct Checked {
    PyObject_HEAD
    struct function function;
    PyObject *otherwise;
    struct node *before, *after; /* NULL: everything fits */
} Checked;

static PyObject *tzinfo; /* the name */

/* Where the items of a tuple begin, and the pointer to those of a list: a call for each item costs more than its check.
 * items_ready finds both in samples; 0: call PyTuple_GetItem and PyList_GetItem. */
static Py_ssize_t tuple_items, list_items;

/* The check ------------------------------------------------------------------------------------------------- */

/* 1 it fits, 0 it does not, or there is an exception. */
static int fits_held(const struct node *node, PyObject *value);

static int int_fits(const struct node *node, PyObject *value) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) return number >= node->lowest && (number < 0 || (unsigned long long)number <= node->highest);
    if (overflow < 0 || node->highest <= LLONG_MAX) return 0;
    return PyLong_AsUnsignedLongLong(value) <= node->highest && !PyErr_Occurred();
}

static int float_fits(const struct node *node, PyObject *value) {
    double number = PyFloat_AsDouble(value);
    return isfinite(number) ? fabs(number) <= node->largest : !node->flag;
}

static int size_fits(const struct node *node, PyObject *value) {
    bool is_text = node->cls == &PyUnicode_Type;
    Py_ssize_t size = is_text ? PyUnicode_GetLength(value) : (Py_ssize_t)bytes_size(value);
    if (size < node->least || size > node->most) return 0;
    if (!node->flag || size == 0) return 1;
    return is_text ? PyUnicode_ReadChar(value, size - 1) != 0 : bytes_data(value)[size - 1] != 0;
}

static inline __attribute__((always_inline)) int fits(const struct node *node, PyObject *value) {
    if (node->cls && Py_TYPE(value) != node->cls) return 0;
    switch (node->how) {
    case CLASS: return 1;
    case INT: return int_fits(node, value);
    case FLOAT: return float_fits(node, value);
    case SIZE: return size_fits(node, value);
    case MEMBER: return PySet_Contains(node->object, value) > 0; /* of exact str or int */
    case OPTIONAL:
        if (value == Py_None) return 1;
        if (node->parts->how == CLASS) return Py_TYPE(value) == node->parts->cls;
        break;
    default: break;
    }
    Py_INCREF(value);
    int fitting = fits_held(node, value);
    Py_DECREF(value);
    return fitting;
}

static int zone_fits(const struct node *node, PyObject *value) {
    PyObject *zone = PyObject_GetAttr(value, tzinfo);
    if (!zone) return 0;
    Py_DECREF(zone); /* compared, not used */
    return node->object == Py_None ? zone != Py_None : zone == node->object;
}

static int test_fits(const struct node *node, PyObject *value) {
    PyObject *result = PyObject_CallFunctionObjArgs(node->object, value, NULL);
    if (!result) return 0;
    int fitting = PyObject_IsTrue(result) > 0;
    Py_DECREF(result);
    return fitting;
}

/* Borrowed; NULL: the list became shorter. */
static inline PyObject *list_item(PyObject *list, Py_ssize_t i) {
    if (!list_items) return PyList_GetItem(list, i);
    return i < Py_SIZE(list) ? (*(PyObject ***)((char *)list + list_items))[i] : NULL;
}

static inline PyObject *tuple_item(PyObject *tuple, Py_ssize_t i) {
    return tuple_items ? ((PyObject **)((char *)tuple + tuple_items))[i] : PyTuple_GetItem(tuple, i);
}

static int items_fit(const struct node *node, PyObject *value) {
    bool is_list = PyList_CheckExact(value);
    if (!is_list && !PyTuple_CheckExact(value)) return 0;
    Py_ssize_t size = Py_SIZE(value);
    if (size < node->least || (node->most >= 0 && size > node->most)) return 0;
    for (Py_ssize_t i = 0; node->count && i < size; i++) {
        PyObject *item = is_list ? list_item(value, i) : tuple_item(value, i);
        if (!item || !fits(node->parts, item)) return 0;
    }
    return Py_SIZE(value) == size;
}

static int values_fit(const struct node *node, PyObject *dict) {
    PyObject *key, *value;
    Py_ssize_t place = 0, size = PyDict_Size(dict), seen = 0;
    for (; seen < size && PyDict_Next(dict, &place, &key, &value); seen++)
        if (!PyUnicode_CheckExact(key) || !fits(node->parts, value)) return 0;
    return seen == size && PyDict_Size(dict) == size;
}

/* Mostly the keys have the order of the fields, and are the same interned objects. */
static int keys_fit(const struct node *node, PyObject *dict) {
    PyObject *key, *value;
    Py_ssize_t place = 0;
    bool in_order = true;
    for (Py_ssize_t i = 0; i < node->count; i++) {
        const struct node *field = &node->parts[i];
        do in_order = in_order && PyDict_Next(dict, &place, &key, &value);
        while (in_order && key != field->name);
        if (!in_order) value = PyDict_GetItemWithError(dict, field->name);
        if (!value || !fits(field, value)) return 0;
    }
    return 1;
}

static int slots_fit(const struct node *node, PyObject *object) {
    for (Py_ssize_t i = 0; i < node->count; i++) {
        const struct node *field = &node->parts[i];
        PyObject *value = *(PyObject **)((char *)object + field->offset);
        if (!value || !fits(field, value)) return 0;
    }
    return 1;
}

static int attributes_fit(const struct node *node, PyObject *object) {
    for (Py_ssize_t i = 0; i < node->count; i++) {
        PyObject *value = PyObject_GetAttr(object, node->parts[i].name);
        int fitting = value && fits(&node->parts[i], value);
        Py_XDECREF(value);
        if (!fitting) return 0;
    }
    return 1;
}

/* The fields in the object's dict, where msgspec finds them too; attributes of the class come after these. */
static int dict_fits(const struct node *node, PyObject *object) {
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    if (!dict) return 0;
    int fitting = PyDict_CheckExact(dict) && keys_fit(node, dict);
    Py_DECREF(dict);
    return fitting;
}

static int fits_held(const struct node *node, PyObject *value) {
    switch (node->how) {
    case ZONE: return zone_fits(node, value);
    case TEST: return test_fits(node, value);
    case OPTIONAL: return fits(node->parts, value);
    case ITEMS: return items_fit(node, value);
    case VALUES: return values_fit(node, value);
    case KEYS: return (node->most < 0 || PyDict_Size(value) == node->most) && keys_fit(node, value);
    case SLOTS: return slots_fit(node, value);
    case DICT: return dict_fits(node, value);
    case ATTRIBUTES: return attributes_fit(node, value);
    default: return 0;
    }
}

/* The function ---------------------------------------------------------------------------------------------- */

/* False with an exception only if it is not an Exception: KeyboardInterrupt goes on. */
static COLD bool cleared(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_Clear();
    return true;
}

static COLD PyObject *call_otherwise(Checked *self, PyObject *argument) {
    return cleared() ? PyObject_CallFunctionObjArgs(self->otherwise, argument, NULL) : NULL;
}

static PyObject *checked_call(PyObject *object, PyObject *argument) {
    Checked *self = (Checked *)object;
#ifdef Py_GIL_DISABLED /* other threads run, and change what is checked */
    if (self->before || self->after) return call_otherwise(self, argument);
#endif
    if (self->before && !fits(self->before, argument)) return call_otherwise(self, argument);
    PyObject *result = function_call(&self->function, argument);
    if (result && (!self->after || fits(self->after, result))) return result;
    Py_XDECREF(result);
    return call_otherwise(self, argument);
}

/* Nodes ----------------------------------------------------------------------------------------------------- */

static void node_clear(struct node *node) {
    for (Py_ssize_t i = 0; i < node->count; i++) node_clear(&node->parts[i]);
    PyMem_Free(node->parts);
    node->parts = NULL;
    node->count = 0;
    Py_CLEAR(node->cls);
    Py_CLEAR(node->object);
    Py_CLEAR(node->name);
}

static int node_visit(struct node *node, visitproc visit, void *arg) {
    Py_VISIT(node->cls);
    Py_VISIT(node->object);
    for (Py_ssize_t i = 0; i < node->count; i++) {
        int stop = node_visit(&node->parts[i], visit, arg);
        if (stop) return stop;
    }
    return 0;
}

static bool node_make(struct node *node, PyObject *program);

static bool make_parts(struct node *node, PyObject *programs) {
    Py_ssize_t count = PyTuple_Size(programs);
    if (count == 0) return true;
    node->parts = PyMem_Calloc((size_t)count, sizeof *node->parts);
    if (!node->parts) {
        PyErr_NoMemory();
        return false;
    }
    node->count = count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!node_make(&node->parts[i], PyTuple_GetItem(programs, i))) return false;
    return true;
}

static bool make_named_parts(struct node *node, PyObject *names, PyObject *programs) {
    if (PyTuple_Size(names) != PyTuple_Size(programs) || !make_parts(node, programs)) return false;
    for (Py_ssize_t i = 0; i < node->count; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (!PyUnicode_CheckExact(name)) return false;
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        Py_XDECREF(node->parts[i].name);
        node->parts[i].name = name;
    }
    return true;
}

static Py_ssize_t basic_size(PyTypeObject *cls) {
    PyObject *size = PyObject_GetAttrString((PyObject *)cls, "__basicsize__");
    Py_ssize_t found = size ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    return found;
}

/* The place of a pointer to `wanted` in an object of so many bytes, or with `array` of a pointer to an array that begins with
 * it; 0 if there is none. */
static Py_ssize_t place_of(const void *wanted, PyObject *object, Py_ssize_t bytes, bool array) {
    for (Py_ssize_t at = sizeof(PyObject); at + (Py_ssize_t)sizeof wanted <= bytes; at += (Py_ssize_t)sizeof wanted) {
        void *const *word = *(void *const **)((char *)object + at);
        bool is_pointer = (uintptr_t)word > 4096 && (uintptr_t)word % sizeof wanted == 0;
        if (array ? is_pointer && *word == wanted : word == wanted) return at;
    }
    return 0;
}

/* The place of a slot in the objects of a class: where its descriptor stores a mark. 0: not found. */
static Py_ssize_t place_of_slot(PyTypeObject *cls, PyObject *name, PyObject *blank) {
    PyObject *slot = PyObject_GetAttrString((PyObject *)message_type, "body"); /* its class is that of all slots */
    PyObject *descriptor = slot ? PyObject_GetAttr((PyObject *)cls, name) : NULL, *mark = descriptor ? PyList_New(0) : NULL;
    Py_ssize_t place = 0;
    if (mark && Py_TYPE(descriptor) == Py_TYPE(slot)) {
        descrsetfunc set = (descrsetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_set);
        if (set(descriptor, blank, mark) == 0) place = place_of(mark, blank, basic_size(cls), false);
    }
    Py_XDECREF(slot);
    Py_XDECREF(descriptor);
    Py_XDECREF(mark);
    PyErr_Clear();
    return place;
}

/* Finds the slots in an object that is not initialized. msgspec makes objects of its classes in this way too. */
static bool make_slots(struct node *node, PyObject *detail) {
    PyObject *blank, *names, *programs;
    if (!PyArg_ParseTuple(detail, "OO!O!", &blank, &PyTuple_Type, &names, &PyTuple_Type, &programs)) return false;
    if (!make_named_parts(node, names, programs)) return false;
    if (blank == Py_None)
        blank = ((allocfunc)PyType_GetSlot(node->cls, Py_tp_alloc))(node->cls, 0);
    else
        Py_INCREF(blank);
    if (!blank) return false;
    for (Py_ssize_t i = 0; Py_TYPE(blank) == node->cls && i < node->count; i++)
        node->parts[i].offset = place_of_slot(node->cls, node->parts[i].name, blank);
    for (Py_ssize_t i = 0; i < node->count; i++)
        if (node->parts[i].offset <= 0) node->how = ATTRIBUTES;
    Py_DECREF(blank);
    return true;
}

static bool make_detail(struct node *node, PyObject *detail) {
    PyObject *names, *programs;
    switch (node->how) {
    case CLASS: return true;
    case INT: return PyArg_ParseTuple(detail, "LK", &node->lowest, &node->highest);
    case FLOAT: return PyArg_ParseTuple(detail, "dp", &node->largest, &node->flag);
    case SIZE: return PyArg_ParseTuple(detail, "nnp", &node->least, &node->most, &node->flag);
    case MEMBER:
        if (Py_TYPE(detail) != &PyFrozenSet_Type) return false;
        /* fall through */
    case ZONE:
    case TEST:
        Py_INCREF(detail);
        node->object = detail;
        return true;
    case OPTIONAL:
    case VALUES: return PyTuple_Size(detail) == 1 && make_parts(node, detail);
    case ITEMS:
        if (!PyArg_ParseTuple(detail, "nnO!", &node->least, &node->most, &PyTuple_Type, &programs)) return false;
        return make_parts(node, programs);
    case SLOTS: return make_slots(node, detail);
    case KEYS:
    case DICT:
    case ATTRIBUTES:
        if (!PyArg_ParseTuple(detail, "nO!O!", &node->most, &PyTuple_Type, &names, &PyTuple_Type, &programs)) return false;
        return make_named_parts(node, names, programs);
    }
    return false;
}

static const struct {
    const char *name;
    PyTypeObject *cls, *or_cls; /* the check reads objects of these; NULL: of any class */
} kinds[] = {
    [CLASS] = {"class", NULL, NULL},        [INT] = {"int", &PyLong_Type, NULL},
    [FLOAT] = {"float", &PyFloat_Type, NULL}, [SIZE] = {"size", &PyUnicode_Type, &PyBytes_Type},
    [ZONE] = {"zone", NULL, NULL},          [MEMBER] = {"member", &PyUnicode_Type, &PyLong_Type},
    [TEST] = {"test", NULL, NULL},          [OPTIONAL] = {"optional", NULL, NULL},
    [ITEMS] = {"items", NULL, NULL},        [VALUES] = {"values", &PyDict_Type, NULL},
    [KEYS] = {"keys", &PyDict_Type, NULL},  [SLOTS] = {"slots", NULL, NULL},
    [DICT] = {"dict", NULL, NULL},          [ATTRIBUTES] = {"attributes", NULL, NULL},
};

/* A node of (how, class or None, detail); fast_checks.py makes these. */
static bool node_make(struct node *node, PyObject *program) {
    const char *name;
    PyObject *cls, *detail;
    size_t how = 0;
    if (!PyTuple_Check(program) || !PyArg_ParseTuple(program, "sOO", &name, &cls, &detail)) return false;
    while (how < sizeof kinds / sizeof *kinds && strcmp(name, kinds[how].name) != 0) how++;
    if (how == sizeof kinds / sizeof *kinds) return false;
    node->how = (enum how)how;
    bool without = how == OPTIONAL || how == ITEMS, whole = how == CLASS || how == ZONE || how == MEMBER || how == TEST;
    if ((without ? cls != Py_None : !PyType_Check(cls)) || (!whole && !PyTuple_Check(detail))) return false;
    if (kinds[how].cls && cls != (PyObject *)kinds[how].cls && cls != (PyObject *)kinds[how].or_cls) return false;
    if (!without) {
        Py_INCREF(cls);
        node->cls = (PyTypeObject *)cls;
    }
    if (Py_EnterRecursiveCall(" in a check")) return false;
    bool made = make_detail(node, detail);
    Py_LeaveRecursiveCall();
    return made;
}

static void tree_free(struct node **tree) {
    if (*tree) node_clear(*tree);
    PyMem_Free(*tree);
    *tree = NULL;
}

static bool tree_make(struct node **tree, PyObject *program) {
    if (program == Py_None) return true;
    *tree = PyMem_Calloc(1, sizeof **tree);
    if (!*tree) {
        PyErr_NoMemory();
        return false;
    }
    if (node_make(*tree, program)) return true;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "not a check of an object: %.200R", program);
    return false;
}

/* The type -------------------------------------------------------------------------------------------------- */

static PyObject *checked_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *otherwise, *before, *after;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOO:Checked", &function, &otherwise, &before, &after)) return NULL;
    Checked *self = (Checked *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    function_set(&self->function, function);
    Py_INCREF(otherwise);
    self->otherwise = otherwise;
    if (tree_make(&self->before, before) && tree_make(&self->after, after)) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static int checked_traverse(PyObject *object, visitproc visit, void *arg) {
    Checked *self = (Checked *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function.object);
    Py_VISIT(self->otherwise);
    int stop = self->before ? node_visit(self->before, visit, arg) : 0;
    return stop || !self->after ? stop : node_visit(self->after, visit, arg);
}

static void checked_dealloc(PyObject *object) {
    Checked *self = (Checked *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->function.object);
    Py_XDECREF(self->otherwise);
    tree_free(&self->before);
    tree_free(&self->after);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef checked_methods[] = {{"call", checked_call, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot checked_slots[] = {{Py_tp_new, checked_new},
                                      {Py_tp_dealloc, checked_dealloc},
                                      {Py_tp_traverse, checked_traverse},
                                      {Py_tp_methods, checked_methods},
                                      {0, NULL}};
static PyType_Spec checked_spec = {.name = "slipring._native.Checked",
                                   .basicsize = sizeof(Checked),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                   .slots = checked_slots};

static bool items_ready(void) {
    PyObject *mark = PyList_New(0), *tuple = mark ? PyTuple_Pack(1, mark) : NULL, *list = tuple ? PySequence_List(tuple) : NULL;
    if (list) {
        tuple_items = place_of(mark, tuple, basic_size(&PyTuple_Type) + (Py_ssize_t)sizeof mark, false);
        list_items = place_of(mark, list, basic_size(&PyList_Type), true);
    }
    Py_XDECREF(mark);
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return list && !PyErr_Occurred();
}

bool checked_type_ready(PyObject *module) {
    return items_ready() && (tzinfo = PyUnicode_InternFromString("tzinfo")) && add_type(module, &checked_spec);
}
