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
#include "checks/tree.h"

#include <math.h>

typedef struct Checked {
    PyObject_HEAD
    struct function function;
    PyObject *otherwise;
    struct node *before, *after; /* NULL: everything fits */
} Checked;

static PyObject *tzinfo; /* the name */

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
    int stop = tree_visit(self->before, visit, arg);
    return stop ? stop : tree_visit(self->after, visit, arg);
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

bool checked_type_ready(PyObject *module) {
    return items_ready() && (tzinfo = PyUnicode_InternFromString("tzinfo")) && add_type(module, &checked_spec);
}
