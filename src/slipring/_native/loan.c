/* SPDX-License-Identifier: Apache-2.0
 *
 * pub.loan(): a context manager whose target is a writable memoryview of the ring. Leaving it commits, an exception
 * aborts.
 */
#include "native.h"

typedef struct Loan {
    PyObject_HEAD
    Publisher *publisher;
    PyObject *type_text, *timeout, *view;
    size_t size;
    slipring_claim claim;
    bool open, used;
} Loan;

PyTypeObject *loan_type;

PyObject *publisher_loan(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const char *const names[] = {"size", "type", "timeout"};
    PyObject *given[3] = {NULL, NULL, NULL};
    if (!arguments_parse("loan", names, 3, 1, args, nargs, kwnames, given)) return NULL;
    size_t size = 0;
    PyObject *number = PyNumber_Index(given[0]);
    if (!number) {
        PyErr_SetString(PyExc_TypeError, "size must be an integer number of bytes");
        return NULL;
    }
    size = PyLong_AsSize_t(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "size must be at least 0 and fit the address space");
        return NULL;
    }
    Loan *loan = PyObject_New(Loan, loan_type);
    if (!loan) return NULL;
    Py_INCREF(self);
    Py_XINCREF(given[1]);
    Py_XINCREF(given[2]);
    loan->publisher = (Publisher *)self;
    loan->type_text = given[1];
    loan->timeout = given[2];
    loan->view = NULL;
    loan->size = size;
    loan->open = loan->used = false;
    loan->claim.seq = 0;
    return (PyObject *)loan;
}

/* The region's memory stays mapped until its last buffer is gone. */
static void unpin(PyObject *owner, uint64_t seq) {
    (void)seq;
    publisher_unpin((Publisher *)owner);
}

static PyObject *loan_enter(PyObject *object, PyObject *ignored) {
    Loan *loan = (Loan *)object;
    (void)ignored;
    if (loan->used) {
        PyErr_SetString(PyExc_RuntimeError, "a loan is used once: ask for another");
        return NULL;
    }
    if (!publisher_enter(loan->publisher)) return NULL;
    if (publisher_claim(loan->publisher, loan->size, loan->type_text, loan->timeout, &loan->claim)) {
        publisher_leave(loan->publisher);
        return NULL;
    }
    handle_unlock(&loan->publisher->handle);
    loan->open = loan->used = true;
    PyObject *region = region_new((PyObject *)loan->publisher, loan->claim.body, (Py_ssize_t)loan->size, true, unpin, 0);
    if (!region) {
        publisher_unpin(loan->publisher);
        return NULL;
    }
    loan->view = region_memoryview(region);
    Py_DECREF(region);
    Py_XINCREF(loan->view);
    return loan->view;
}

/* Slices of the view keep the memory mapped; the view itself is of no use after this. */
static bool release_view(Loan *loan) {
    PyObject *result = loan->view ? PyObject_CallMethod(loan->view, "release", NULL) : NULL;
    if (!result && PyErr_ExceptionMatches(PyExc_BufferError)) PyErr_Clear();
    Py_XDECREF(result);
    Py_CLEAR(loan->view);
    return !PyErr_Occurred();
}

static PyObject *loan_exit(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Loan *loan = (Loan *)object;
    Publisher *publisher = loan->publisher;
    if (!loan->open) Py_RETURN_NONE;
    loan->open = false;
    bool failed = nargs > 0 && args[0] != Py_None;
    int code = SLIPRING_OK;
    bool closed = publisher->handle.closing;
    if (publisher->pub) {
        handle_lock(&publisher->handle);
        code = failed || closed ? slipring_publisher_abort(publisher->pub, &loan->claim)
                                : slipring_publisher_commit(publisher->pub, &loan->claim);
        handle_unlock(&publisher->handle);
    }
    if (!release_view(loan)) return NULL;
    if (failed) Py_RETURN_NONE;
    if (closed) return raise_closed("publisher");
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

static void loan_dealloc(PyObject *object) {
    Loan *loan = (Loan *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (loan->open && loan->publisher->pub) slipring_publisher_abort(loan->publisher->pub, &loan->claim);
    Py_XDECREF(loan->view);
    Py_XDECREF(loan->type_text);
    Py_XDECREF(loan->timeout);
    Py_DECREF(loan->publisher);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *loan_seq(PyObject *object, void *ignored) {
    Loan *loan = (Loan *)object;
    (void)ignored;
    if (!loan->used) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(loan->claim.seq);
}

static PyGetSetDef loan_getset[] = {{"seq", loan_seq, NULL, "the message's sequence, once entered", NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef loan_methods[] = {
    {"__enter__", loan_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))loan_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot loan_slots[] = {
    {Py_tp_dealloc, loan_dealloc}, {Py_tp_methods, loan_methods}, {Py_tp_getset, loan_getset}, {0, NULL}};
static PyType_Spec loan_spec = {.name = "slipring.Loan",
                                .basicsize = sizeof(Loan),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = loan_slots};

bool loan_type_ready(PyObject *module) { return (loan_type = add_type(module, &loan_spec)) != NULL; }
