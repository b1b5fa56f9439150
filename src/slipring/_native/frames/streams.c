/* SPDX-License-Identifier: Apache-2.0 */
#include "frames/streams.h"

#include <string.h>

static bool text_copy(PyObject *object, const char *argument, char *out, size_t room) {
    const char *text;
    Py_ssize_t size;
    if (!text_get(object, argument, &text, &size)) return false;
    if ((size_t)size >= room || strlen(text) != (size_t)size) {
        raise_bad_argument(argument, "%s=%.100R must have at most %zu bytes of UTF-8 and no NUL", argument, object, room - 1);
        return false;
    }
    memcpy(out, text, (size_t)size + 1);
    return true;
}

static bool shape_parse(PyObject *shape, slipring_stream *out) {
    Py_ssize_t dimensions = PyTuple_Size(shape);
    if (dimensions > SLIPRING_MAX_DIMENSIONS) {
        raise_bad_argument("shape", "shape=%.100R must have at most %d dimensions", shape, SLIPRING_MAX_DIMENSIONS);
        return false;
    }
    out->dimensions = (uint32_t)dimensions;
    for (Py_ssize_t d = 0; d < dimensions; d++) {
        out->shape[d] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, d));
        if (PyErr_Occurred()) return false;
    }
    return true;
}

static bool stream_parse(PyObject *tuple, slipring_stream *out) {
    PyObject *name, *shape, *dtype;
    unsigned item_size, buffers;
    memset(out, 0, sizeof *out);
    if (!PyArg_ParseTuple(tuple, "UO!UII", &name, &PyTuple_Type, &shape, &dtype, &item_size, &buffers)) return false;
    out->item_size = item_size;
    out->buffers = buffers;
    return text_copy(name, "streams", out->name, sizeof out->name) && text_copy(dtype, "dtype", out->dtype, sizeof out->dtype) &&
           shape_parse(shape, out);
}

int streams_parse(PyObject *tuple, slipring_stream out[SLIPRING_MAX_STREAMS]) {
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > SLIPRING_MAX_STREAMS) {
        raise_bad_argument("streams", "streams has %zd entries: at most %d are allowed", count, SLIPRING_MAX_STREAMS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!stream_parse(PyTuple_GetItem(tuple, i), &out[i])) return -1;
    return (int)count;
}

PyObject *stream_build(const slipring_stream *s) {
    PyObject *shape = PyTuple_New(s->dimensions);
    for (uint32_t d = 0; shape && d < s->dimensions; d++) {
        PyObject *number = PyLong_FromUnsignedLongLong(s->shape[d]);
        if (!number || PyTuple_SetItem(shape, d, number)) Py_CLEAR(shape);
    }
    if (!shape) return NULL;
    return Py_BuildValue("sNNII", s->name, shape, PyUnicode_DecodeUTF8(s->dtype, (Py_ssize_t)strlen(s->dtype), "replace"),
                         (unsigned)s->item_size, (unsigned)s->buffers);
}

PyObject *streams_build(const slipring_stream *streams, size_t count) {
    PyObject *all = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; all && i < count; i++) {
        PyObject *one = stream_build(&streams[i]);
        if (!one || PyTuple_SetItem(all, (Py_ssize_t)i, one)) Py_CLEAR(all);
    }
    return all;
}

/* (generation, created_ns, runs, file_bytes, streams, buffers held of each) */
PyObject *frames_inspect(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    slipring_pool_info info;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    int code = slipring_pool_inspect(bus, topic, &info);
    if (code) return raise_code_at(code, bus);
    PyObject *held = PyTuple_New(info.stream_count);
    for (uint32_t i = 0; held && i < info.stream_count; i++)
        if (PyTuple_SetItem(held, i, PyLong_FromUnsignedLong(info.held[i]))) Py_CLEAR(held);
    PyObject *streams = held ? streams_build(info.stream, info.stream_count) : NULL;
    if (!streams) {
        Py_XDECREF(held);
        return NULL;
    }
    return Py_BuildValue("KLKKNN", (unsigned long long)info.generation, (long long)info.created_ns,
                         (unsigned long long)info.runs, (unsigned long long)info.file_bytes, streams, held);
}
