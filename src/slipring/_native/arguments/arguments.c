/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of arguments by hand: the general parser costs more than sending a message.
 */
#include "native.h"

#include <math.h>
#include <string.h>

/* None and 0 are by far the most frequent values. */
bool timeout_parse(PyObject *value, struct timeout *out) {
    static PyObject *zero; /* small integers are one object each */
    if (!zero) zero = PyLong_FromLong(0);
    *out = (struct timeout){.seconds = -1, .deadline_ns = SLIPRING_FOREVER, .never_waits = value == zero};
    if (SLR_DEFECT(timeout_of_0_waits)) out->never_waits = false;
    if (value == Py_None || value == zero) return true;
    if (!PyFloat_Check(value) && !PyLong_Check(value) && !PyIndex_Check(value)) {
        PyObject *as_float = PyNumber_Float(value);
        if (!as_float || PyUnicode_Check(value) || PyBytes_Check(value)) {
            Py_XDECREF(as_float);
            raise_wrong_type("timeout", "None or a number of seconds", value);
            return false;
        }
        Py_DECREF(as_float);
    }
    double seconds = PyFloat_AsDouble(value);
    if (seconds == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
        PyErr_Clear(); /* an integer too large for a float */
        PyObject *zero = PyLong_FromLong(0);
        int negative = zero ? PyObject_RichCompareBool(value, zero, Py_LT) : -1;
        Py_XDECREF(zero);
        if (negative < 0) return false;
        seconds = negative ? -1.0 : HUGE_VAL;
    }
    if (isnan(seconds) || seconds < 0) {
        raise_bad_argument("timeout", "timeout=%.100R must be None or at least 0 seconds", value);
        return false;
    }
    out->never_waits = seconds == 0;
    out->seconds = seconds > 9e8 ? -1 : seconds;
    return true;
}

int64_t timeout_deadline(struct timeout *t) {
    if (t->seconds >= 0) {
        t->deadline_ns = slipring_deadline(t->seconds);
        if (!SLR_DEFECT(arrivals_extend_a_timeout)) t->seconds = -1;
    }
    return t->deadline_ns;
}

void function_set(struct function *function, PyObject *object) {
    bool built_in = Py_TYPE(object) == &PyCFunction_Type;
    int flags = built_in ? PyCFunction_GetFlags(object) : 0;
    Py_INCREF(object);
    *function = (struct function){.object = object};
    if (flags != METH_O && flags != METH_FASTCALL) return;
    PyCFunction call = PyCFunction_GetFunction(object);
    function->self = PyCFunction_GetSelf(object);
    if (flags == METH_O)
        function->one = call;
    else
        function->many = (_PyCFunctionFast)(void (*)(void))call;
}

/* The index of a name; count if there is none. */
static size_t position_of(struct signature *s, PyObject *name) {
    for (size_t i = 0; i < s->count; i++) {
        if (!s->interned[i] && !(s->interned[i] = PyUnicode_InternFromString(s->names[i]))) PyErr_Clear();
        if (s->interned[i] == name) return i;
    }
    size_t i = 0; /* a name made at run time */
    while (i < s->count && PyUnicode_CompareWithASCIIString(name, s->names[i]) != 0) i++;
    return i;
}

bool arguments_parse(struct signature *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **out) {
    if ((size_t)nargs > s->count) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zd given)", s->function, s->count, nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) out[i] = args[i];
    Py_ssize_t keywords = kwnames ? Py_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GetItem(kwnames, k);
        size_t i = position_of(s, name);
        if (i == s->count || i < (size_t)nargs) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected or repeated argument '%U'", s->function, name);
            return false;
        }
        out[i] = args[nargs + k];
    }
    for (size_t i = 0; i < s->required; i++)
        if (!out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() is missing the required argument '%s'", s->function, s->names[i]);
            return false;
        }
    return true;
}

bool text_get(PyObject *object, const char *argument, const char **data, Py_ssize_t *size) {
    *data = "";
    *size = 0;
    if (!object) return true;
    if (!PyUnicode_Check(object)) {
        raise_wrong_type(argument, "str", object);
        return false;
    }
    *data = PyUnicode_AsUTF8AndSize(object, size);
    if (!*data && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        raise_bad_argument(argument, "%s=%.100R cannot be encoded as UTF-8: it contains lone surrogates", argument, object);
    }
    return *data != NULL;
}
