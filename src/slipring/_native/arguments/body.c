/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies to send and buffers to receive into. A buffer of Python objects or pointers (an array of dtype object, a ctypes
 * structure with pointers) contains addresses of this process. They mean nothing in other processes; overwriting them
 * crashes this one. The format of the buffer shows them (PEP 3118).
 */
#include "native.h"

#include <string.h>

/* Names of fields are enclosed in colons. Z before a letter of a float is a complex number; alone it is a wchar_t *. */
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

static COLD void refuse(const char *argument, const char *sign, const char *format) {
    PyErr_Format(PyExc_TypeError,
                 "%s contains Python objects or pointers (%s%s), which are addresses of this process: use plain data, as in "
                 "array.astype('f8'), or encode the objects",
                 argument, sign, format);
}

bool buffer_is_plain(Py_buffer *view, const char *argument) {
    if (!format_has_pointers(view->format)) return true;
    refuse(argument, "buffer format ", view->format);
    PyBuffer_Release(view);
    return false;
}

/* numpy has dtypes without a format (datetime64, StringDType), and exports such memory if no format is requested. */
static bool dtype_has_objects(PyObject *object) {
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *has = dtype ? PyObject_GetAttrString(dtype, "hasobject") : NULL;
    bool found = has && PyObject_IsTrue(has) > 0;
    Py_XDECREF(has);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return found;
}

bool buffer_get_without_format(PyObject *object, const char *argument, int flags, Py_buffer *view) {
    PyErr_Clear();
    if (dtype_has_objects(object)) {
        refuse(argument, "in its dtype", "");
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
    return got > 0 || (got < 0 && buffer_get_without_format(object, "buffer", PyBUF_WRITABLE, view));
}

/* check_target(buffer): raises the error that recv_into raises for this buffer. */
PyObject *native_check_target(PyObject *module, PyObject *object) {
    Py_buffer view;
    (void)module;
    if (!buffer_get_target(object, &view)) return NULL;
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

/* Bodies ---------------------------------------------------------------------------------------------------- */

/* 1; 0 with an exception; -1 with an exception if the exporter cannot describe its memory. */
static int copy_scattered(PyObject *object, struct body *out) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, &out->view, PyBUF_FULL_RO)) return -1;
    if (!buffer_is_plain(&out->view, "body")) return 0;
    out->copy = PyBytes_FromStringAndSize(NULL, out->view.len);
    int failed = !out->copy || PyBuffer_ToContiguous(PyBytes_AsString(out->copy), &out->view, out->view.len, 'C');
    PyBuffer_Release(&out->view);
    if (failed) {
        Py_CLEAR(out->copy);
        return 0;
    }
    out->data = PyBytes_AsString(out->copy);
    out->size = PyBytes_Size(out->copy);
    return 1;
}

/* A bytearray is plain data, so that its format is not needed. */
static int body_view(PyObject *object, struct body *out) {
    if (PyByteArray_CheckExact(object)) return PyObject_GetBuffer(object, &out->view, PyBUF_SIMPLE) ? 0 : 1;
    return buffer_get(object, "body", PyBUF_SIMPLE, &out->view);
}

/* For scattered memory, and memory without a format. */
static COLD bool body_copy(PyObject *object, struct body *out) {
    int copied = SLR_DEFECT(scattered_buffers_refused) ? 0 : copy_scattered(object, out);
    if (copied >= 0) return copied;
    if (!buffer_get_without_format(object, "body", PyBUF_SIMPLE, &out->view)) return false;
    out->has_view = true;
    out->data = out->view.buf;
    out->size = out->view.len;
    return true;
}

size_t bytes_contents;

bool bytes_ready(void) {
    PyObject *sample = PyBytes_FromStringAndSize("sample", 6);
    if (!sample) return false;
    bytes_contents = (size_t)(PyBytes_AsString(sample) - (char *)sample);
    Py_DECREF(sample);
    return true;
}

bool body_get(PyObject *object, struct body *out) {
    out->has_view = false;
    out->copy = NULL;
    if (PyBytes_CheckExact(object)) {
        out->data = bytes_data(object);
        out->size = Py_SIZE(object);
        return true;
    }
    if (PyUnicode_Check(object)) {
        const char *hint = "body must be bytes or another object with a buffer, not str: encode it, as in text.encode()";
        PyErr_SetString(PyExc_TypeError, SLR_DEFECT(text_refused_without_hint) ? "body must be bytes" : hint);
        return false;
    }
    if (!PyObject_CheckBuffer(object)) {
        raise_wrong_type("body", "bytes or another object with a buffer", object);
        return false;
    }
    int got = body_view(object, out);
    if (got <= 0) return got < 0 && body_copy(object, out);
    out->has_view = true;
    out->data = out->view.buf;
    out->size = out->view.len;
    return true;
}

void body_release(struct body *body) {
    if (body->has_view) PyBuffer_Release(&body->view);
    Py_CLEAR(body->copy);
}

/* body_bytes(body): a copy of the bytes that would be sent. */
PyObject *native_body_bytes(PyObject *module, PyObject *object) {
    struct body body;
    (void)module;
    if (!body_get(object, &body)) return NULL;
    PyObject *copy = PyBytes_FromStringAndSize(body.data, body.size);
    body_release(&body);
    return copy;
}
