/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspector: the owner of a writer entry, for frequent and cheap checks whether it is alive.
 */
#include "native.h"

typedef struct Inspector {
    PyObject_HEAD
    slipring_inspector *inspector;
} Inspector;

PyTypeObject *inspector_type;

static PyObject *inspector_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus_path, *topic;
    int code;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "ss:Inspector", &bus_path, &topic)) return NULL;
    Inspector *self = (Inspector *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_inspector_open(bus_path, topic, &self->inspector);
    Py_END_ALLOW_THREADS
    if (code) {
        self->inspector = NULL;
        Py_DECREF(self);
        return raise_code_at(code, bus_path);
    }
    return (PyObject *)self;
}

static PyObject *inspector_close(PyObject *object, PyObject *ignored) {
    Inspector *self = (Inspector *)object;
    (void)ignored;
    if (self->inspector) slipring_inspector_close(self->inspector);
    self->inspector = NULL;
    Py_RETURN_NONE;
}

static void inspector_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(inspector_close(object, NULL));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The incarnation of the entry's living owner, or 0 (incarnations in use begin at 1). The GIL is held throughout, so that
 * close() cannot run meanwhile. */
static PyObject *inspector_owner(PyObject *object, PyObject *number) {
    Inspector *self = (Inspector *)object;
    slipring_writer_info info;
    unsigned long entry = PyLong_AsUnsignedLong(number);
    if (entry == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    if (!self->inspector) return raise_closed("inspector");
    int code = slipring_inspector_writer(self->inspector, entry > UINT32_MAX ? UINT32_MAX : (uint32_t)entry, &info);
    if (code) return raise_code(code);
    return PyLong_FromUnsignedLongLong(info.alive ? info.incarnation : 0);
}

static PyMethodDef inspector_methods[] = {
    {"owner", inspector_owner, METH_O, "Return the incarnation of a writer entry's living owner, or 0."},
    {"close", inspector_close, METH_NOARGS, "Unmap the topic."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot inspector_slots[] = {
    {Py_tp_new, inspector_new}, {Py_tp_dealloc, inspector_dealloc}, {Py_tp_methods, inspector_methods}, {0, NULL}};
static PyType_Spec inspector_spec = {
    .name = "slipring._native.Inspector", .basicsize = sizeof(Inspector), .flags = Py_TPFLAGS_DEFAULT, .slots = inspector_slots};

bool inspector_type_ready(PyObject *module) { return (inspector_type = add_type(module, &inspector_spec)) != NULL; }
