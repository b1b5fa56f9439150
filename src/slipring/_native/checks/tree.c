/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the nodes of a check from tuples, and finds where objects of a class keep pointers: slots, and the items of tuples and
 * lists. Each place is found in a sample object, by a pointer that was stored there. A place that is not found is read by
 * Python's functions.
 */
#include "checks/tree.h"

#include <string.h>

Py_ssize_t tuple_items, list_items;

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

int tree_visit(struct node *tree, visitproc visit, void *arg) { return tree ? node_visit(tree, visit, arg) : 0; }

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

void tree_free(struct node **tree) {
    if (*tree) node_clear(*tree);
    PyMem_Free(*tree);
    *tree = NULL;
}

bool tree_make(struct node **tree, PyObject *program) {
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

bool items_ready(void) {
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
