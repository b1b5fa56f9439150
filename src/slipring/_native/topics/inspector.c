/* SPDX-License-Identifier: Apache-2.0
 *
 * Looker: whether the owner of one writer entry lives, asked often and cheaply.
 */
#include "native.h"

typedef struct Looker {
    PyObject_HEAD
    slipring_inspector *looker;
} Looker;

PyTypeObject *looker_type;

static PyObject *looker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus_path, *topic;
    int code;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "ss:Looker", &bus_path, &topic)) return NULL;
    Looker *self = (Looker *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_inspector_open(bus_path, topic, &self->looker);
    Py_END_ALLOW_THREADS
    if (code) {
        self->looker = NULL;
        Py_DECREF(self);
        return raise_code_at(code, bus_path);
    }
    return (PyObject *)self;
}

static PyObject *looker_close(PyObject *object, PyObject *ignored) {
    Looker *self = (Looker *)object;
    (void)ignored;
    if (self->looker) slipring_inspector_close(self->looker);
    self->looker = NULL;
    Py_RETURN_NONE;
}

static void looker_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(looker_close(object, NULL));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The incarnation of the entry's living owner; 0 when there is none (incarnations in use begin at 1). The GIL is held
 * throughout, so that close() cannot come between. */
static PyObject *looker_owner(PyObject *object, PyObject *number) {
    Looker *self = (Looker *)object;
    slipring_writer_info info;
    unsigned long entry = PyLong_AsUnsignedLong(number);
    if (entry == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    if (!self->looker) return raise_closed("looker");
    int code = slipring_inspector_writer(self->looker, entry > UINT32_MAX ? UINT32_MAX : (uint32_t)entry, &info);
    if (code) return raise_code(code);
    return PyLong_FromUnsignedLongLong(info.alive ? info.incarnation : 0);
}

static PyMethodDef looker_methods[] = {
    {"owner", looker_owner, METH_O, "The incarnation of a writer entry's living owner, or 0."},
    {"close", looker_close, METH_NOARGS, "Stop looking."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot looker_slots[] = {
    {Py_tp_new, looker_new}, {Py_tp_dealloc, looker_dealloc}, {Py_tp_methods, looker_methods}, {0, NULL}};
static PyType_Spec looker_spec = {
    .name = "slipring._native.Looker", .basicsize = sizeof(Looker), .flags = Py_TPFLAGS_DEFAULT, .slots = looker_slots};

bool looker_type_ready(PyObject *module) { return (looker_type = add_type(module, &looker_spec)) != NULL; }
