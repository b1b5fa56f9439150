/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers of plain data. A buffer of Python objects or pointers (arrays of dtype object, structures of ctypes with pointers)
 * holds addresses of this process: sent, they are meaningless elsewhere; received over, they crash this process. The
 * exporter tells by the buffer's format (PEP 3118).
 */
#include "native.h"

#include <string.h>

/* Names of fields stand between colons. Z before a letter for a float is complex, alone it is a wchar_t *. */
static bool format_has_pointers(const char *format) {
    for (const char *c = format; c && *c; c++) {
        if (*c == ':') {
            c = strchr(c + 1, ':');
            if (!c) return false;
        } else if (*c == 'Z' && c[1] && strchr("efdg", c[1])) {
            c++;
        } else if (strchr("OP&XzZ", *c)) {
            return true;
        }
    }
    return false;
}

static void refuse(const char *argument, const char *format) {
    PyErr_Format(PyExc_TypeError,
                 "%s holds Python objects or pointers (buffer format '%s'): they are addresses of this process; use plain "
                 "data, as in array.astype('f8'), or encode the objects",
                 argument, format);
}

bool buffer_is_plain(Py_buffer *view, const char *argument) {
    if (!format_has_pointers(view->format)) return true;
    refuse(argument, view->format);
    PyBuffer_Release(view);
    return false;
}

/* numpy has dtypes without a format (datetime64, StringDType), and gives such memory to who does not ask for one. */
static bool dtype_has_objects(PyObject *object) {
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *has = dtype ? PyObject_GetAttrString(dtype, "hasobject") : NULL;
    bool found = has && PyObject_IsTrue(has) > 0;
    Py_XDECREF(has);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return found;
}

bool buffer_get_untold(PyObject *object, const char *argument, int flags, Py_buffer *view) {
    PyErr_Clear();
    if (dtype_has_objects(object)) {
        refuse(argument, "of its dtype");
        return false;
    }
    return PyObject_GetBuffer(object, view, flags) == 0;
}

int buffer_get(PyObject *object, const char *argument, int flags, Py_buffer *view) {
    if (PyObject_GetBuffer(object, view, flags | PyBUF_ND | PyBUF_FORMAT)) return -1;
    return buffer_is_plain(view, argument);
}

bool buffer_get_target(PyObject *object, Py_buffer *view) {
    if (PyByteArray_CheckExact(object)) return PyObject_GetBuffer(object, view, PyBUF_WRITABLE) == 0;
    int got = buffer_get(object, "buffer", PyBUF_WRITABLE, view);
    return got > 0 || (got < 0 && buffer_get_untold(object, "buffer", PyBUF_WRITABLE, view));
}

/* check_target(buffer): raises what recv_into raises for it. */
PyObject *native_check_target(PyObject *module, PyObject *object) {
    Py_buffer view;
    (void)module;
    if (!buffer_get_target(object, &view)) return NULL;
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}
