/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoder: how the messages of a typed topic become values. It is made when a subscriber attaches, and its function when a value
 * is first asked for: a subscriber that reads bodies alone does not need the packages of the encoding.
 */
#include "native.h"

typedef struct Decoder {
    PyObject_HEAD
    PyObject *build;        /* () -> decode */
    struct function decode; /* body -> value, from its first need on */
    PyObject *locate;       /* (error, topic, seq): adds the place to an error of decode */
} Decoder;

static PyTypeObject *decoder_type;

bool decoder_check(PyObject *object) { return Py_TYPE(object) == decoder_type; }

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *build, *locate;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO:Decoder", &build, &locate)) return NULL;
    Decoder *self = (Decoder *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    Py_INCREF(build);
    Py_INCREF(locate);
    self->build = build;
    self->locate = locate;
    self->decode = (struct function){.object = NULL};
    return (PyObject *)self;
}

static void decoder_dealloc(PyObject *object) {
    Decoder *self = (Decoder *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->build);
    Py_XDECREF(self->decode.object);
    Py_XDECREF(self->locate);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static COLD bool make_decode(Decoder *self) {
    PyObject *decode = PyObject_CallNoArgs(self->build);
    if (!decode) return false;
    if (!self->decode.object) function_set(&self->decode, decode); /* else another thread was faster */
    Py_DECREF(decode);
    return true;
}

COLD void locate_error(PyObject *locate, PyObject *topic, PyObject *seq) {
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyErr_NormalizeException(&kind, &error, &trace);
    PyObject *done = seq ? PyObject_CallFunctionObjArgs(locate, error, topic, seq, NULL) : NULL;
    if (done) {
        Py_DECREF(done);
        PyErr_Restore(kind, error, trace);
        return;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(trace);
}

PyObject *decoder_value(PyObject *object, PyObject *body, PyObject *topic, uint64_t seq) {
    Decoder *self = (Decoder *)object;
    if (!self->decode.object && !make_decode(self)) return NULL;
    PyObject *value = function_call(&self->decode, body);
    if (value) return value;
    PyObject *number = PyLong_FromUnsignedLongLong(seq);
    locate_error(self->locate, topic, number);
    Py_XDECREF(number);
    return NULL;
}

static PyObject *decoder_reduce(PyObject *object, PyObject *ignored) {
    Decoder *self = (Decoder *)object;
    (void)ignored;
    return Py_BuildValue("O(OO)", decoder_type, self->build, self->locate);
}

static PyMethodDef decoder_methods[] = {{"__reduce__", decoder_reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot decoder_slots[] = {
    {Py_tp_new, decoder_new}, {Py_tp_dealloc, decoder_dealloc}, {Py_tp_methods, decoder_methods}, {0, NULL}};
static PyType_Spec decoder_spec = {
    .name = "slipring._native.Decoder", .basicsize = sizeof(Decoder), .flags = Py_TPFLAGS_DEFAULT, .slots = decoder_slots};

bool decoder_type_ready(PyObject *module) { return (decoder_type = add_type(module, &decoder_spec)) != NULL; }
