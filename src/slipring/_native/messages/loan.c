/* SPDX-License-Identifier: Apache-2.0
 *
 * pub.loan(): a context manager whose target is a writable memoryview of the ring. The end of the block commits; an exception
 * aborts. Nothing is sent while slices or arrays of the view exist, because they could change the message. The claim then
 * stays open until they are gone, and is aborted.
 */
#include "handles/free_list.h"
#include "native.h"

typedef struct Loan {
    PyObject_HEAD
    Publisher *publisher;
    PyObject *type_text, *timeout, *view, *region;
    size_t size;
    slipring_claim claim;
    bool used;
} Loan;

PyTypeObject *loan_type;
static struct free_list free_list;

#define COMMITTED UINT64_MAX /* instead of a sequence: there is nothing to abort */

PyObject *publisher_loan_raw(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"loan", 3, 1, {"size", "type", "timeout"}, {NULL}};
    PyObject *given[3] = {NULL, NULL, NULL};
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    PyObject *number = PyNumber_Index(given[0]);
    if (!number) return raise_wrong_type("size", "an integer number of bytes", given[0]);
    size_t size = PyLong_AsSize_t(number);
    Py_DECREF(number);
    if (size == (size_t)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return raise_bad_argument("size", "size=%.100R must be at least 0 and below 2**64", given[0]);
    }
    Loan *loan = free_list_take(&free_list);
    if (!loan && !(loan = PyObject_New(Loan, loan_type))) return NULL;
    Py_INCREF(self);
    Py_XINCREF(given[1]);
    Py_XINCREF(given[2]);
    loan->publisher = (Publisher *)self;
    loan->type_text = given[1];
    loan->timeout = given[2];
    loan->view = loan->region = NULL;
    loan->size = size;
    loan->used = false;
    loan->claim.seq = 0;
    return (PyObject *)loan;
}

PyObject *publisher_loan(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    Publisher *self = (Publisher *)object;
    return self->codec ? publisher_call_codec(self, "loan", args, nargs, kwnames) : publisher_loan_raw(object, args, nargs, kwnames);
}

/* The region is gone, and no buffer can write any more. A claim that is not committed by now is aborted. */
static void end_claim(PyObject *owner, uint64_t seq) {
    Publisher *publisher = (Publisher *)owner;
    if (seq != COMMITTED) {
        slipring_claim claim = {.seq = seq};
        handle_lock(&publisher->handle);
        slipring_publisher_abort(publisher->pub, &claim);
        handle_unlock(&publisher->handle);
    }
    publisher_unpin(publisher);
}

static PyObject *loan_enter(PyObject *object, PyObject *ignored) {
    Loan *loan = (Loan *)object;
    (void)ignored;
    if (loan->used) {
        PyErr_SetString(PyExc_RuntimeError, "this loan was already entered: call loan() for each message");
        return NULL;
    }
    if (!publisher_enter(loan->publisher)) return NULL;
    loan->used = true; /* before the wait, in which another thread may enter */
    if (publisher_claim(loan->publisher, loan->size, loan->type_text, loan->timeout, &loan->claim)) {
        loan->used = false;
        publisher_leave(loan->publisher);
        return NULL;
    }
    handle_unlock(&loan->publisher->handle);
    loan->region = region_new((PyObject *)loan->publisher, loan->claim.body, (Py_ssize_t)loan->size, true, end_claim,
                              loan->claim.seq);
    if (!loan->region) {
        slipring_publisher_abort(loan->publisher->pub, &loan->claim);
        publisher_unpin(loan->publisher);
        return NULL;
    }
    loan->view = region_memoryview(loan->region);
    Py_XINCREF(loan->view);
    return loan->view;
}

/* True if no buffer of the loan is left, nor another reference to its memory: numpy.ndarray(buffer=view) releases the buffer
 * and keeps the region. */
static bool take_back(Loan *loan) {
    PyObject *result = loan->view ? region_release(loan->view) : NULL;
    if (!result) PyErr_Clear(); /* an array uses the view itself; the region counts it */
    Py_XDECREF(result);
    Py_CLEAR(loan->view);
    return !region_in_use(loan->region) && Py_REFCNT(loan->region) == 1;
}

static int commit(Loan *loan) {
    Publisher *publisher = loan->publisher;
    handle_lock(&publisher->handle);
    int code = slipring_publisher_commit(publisher->pub, &loan->claim);
    handle_unlock(&publisher->handle);
    if (code == SLIPRING_OK) region_forget(loan->region, COMMITTED);
    return code;
}

static PyObject *loan_exit(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Loan *loan = (Loan *)object;
    if (!loan->region) Py_RETURN_NONE;
    bool failed = nargs > 0 && args[0] != Py_None, closed = loan->publisher->handle.closing;
    bool free_of_buffers = take_back(loan);
    int code = failed || closed || !free_of_buffers ? SLIPRING_OK : commit(loan);
    Py_CLEAR(loan->region); /* aborts when its last buffer is gone, unless committed */
    if (failed) Py_RETURN_NONE;
    if (closed) return raise_closed("publisher");
    if (!free_of_buffers) {
        PyErr_SetString(PyExc_BufferError,
                        "nothing was sent: slices or arrays of the loan are still in use and could change the message; "
                        "delete them before the block ends");
        return NULL;
    }
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

static void loan_dealloc(PyObject *object) {
    Loan *loan = (Loan *)object;
    Py_XDECREF(loan->view);
    Py_XDECREF(loan->region);
    Py_XDECREF(loan->type_text);
    Py_XDECREF(loan->timeout);
    Py_DECREF(loan->publisher);
    free_list_give(&free_list, object);
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
