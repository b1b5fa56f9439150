/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions on topics: create, remove, repair, sweep, verify, statistics; checks of names; the layout as data.
 */
#include "native.h"

#include <string.h>

static bool number_item(PyObject *dict, const char *name, uint64_t most, uint64_t *out) {
    PyObject *value = PyDict_GetItemString(dict, name);
    if (!value || value == Py_None) return true;
    unsigned long long number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) return false;
    *out = number > most ? most : number;
    return true;
}

/* The schema is borrowed from the dict. */
static bool schema_item(PyObject *dict, const void **schema, size_t *size) {
    PyObject *value = PyDict_GetItemString(dict, "schema");
    if (!value || value == Py_None) return true;
    if (!PyBytes_CheckExact(value)) {
        raise_wrong_type("schema", "bytes", value);
        return false;
    }
    *schema = bytes_data(value);
    *size = bytes_size(value);
    return true;
}

bool settings_parse(PyObject *dict, slipring_settings *out) {
    const void *schema = NULL;
    size_t schema_size = 0;
    uint64_t capacity = 0, slots = 0, delivery = UINT32_MAX, writers = UINT32_MAX, readers = 0, many = 0, cursors = 0, mode = 0,
             content = 0, must_exist = 0;
    if (!number_item(dict, "capacity", UINT64_MAX, &capacity) || !number_item(dict, "slots", UINT64_MAX, &slots) ||
        !number_item(dict, "delivery", 1, &delivery) || !number_item(dict, "writers", 1, &writers) ||
        !number_item(dict, "max_readers", UINT32_MAX, &readers) || !number_item(dict, "max_writers", UINT32_MAX, &many) ||
        !number_item(dict, "max_cursors", UINT32_MAX, &cursors) || !number_item(dict, "mode", UINT32_MAX, &mode) ||
        !number_item(dict, "content", 1, &content) || !number_item(dict, "must_exist", 1, &must_exist) ||
        !schema_item(dict, &schema, &schema_size))
        return false;
    *out = (slipring_settings){.capacity = capacity,
                               .slots = slots,
                               .delivery = delivery == UINT32_MAX ? -1 : (int)delivery,
                               .writers = writers == UINT32_MAX ? -1 : (int)writers,
                               .max_readers = (uint32_t)readers,
                               .max_writers = (uint32_t)many,
                               .max_cursors = (uint32_t)cursors,
                               .mode = (uint32_t)mode,
                               .content = (int)content,
                               .must_exist = must_exist != 0,
                               .schema = schema,
                               .schema_size = schema_size};
    return true;
}

PyObject *topic_create(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    PyObject *dict;
    int exist_ok, code;
    slipring_settings settings;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssO!p", &bus, &topic, &PyDict_Type, &dict, &exist_ok)) return NULL;
    if (!settings_parse(dict, &settings)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_topic_create(bus, topic, &settings, exist_ok != 0);
    Py_END_ALLOW_THREADS
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

PyObject *topic_remove(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    int code;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_topic_remove(bus, topic);
    Py_END_ALLOW_THREADS
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

bool schema_get(schema_getter get, const void *handle, PyObject **out) {
    size_t size;
    *out = NULL;
    int code = get(handle, NULL, 0, &size);
    if (!code && size && (*out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size))) code = get(handle, bytes_data(*out), size, &size);
    if (code) raise_code(code);
    if (code) Py_CLEAR(*out);
    return !PyErr_Occurred();
}

static int get_schema(const void *inspector, void *buffer, size_t room, size_t *size) {
    return slipring_inspector_schema(inspector, buffer, room, size);
}

/* topic_schema(bus, topic): bytes or None */
PyObject *topic_schema(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    slipring_inspector *inspector;
    PyObject *schema;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    int code = slipring_inspector_open(bus, topic, &inspector);
    if (code) return raise_code_at(code, bus);
    bool known = schema_get(get_schema, inspector, &schema);
    slipring_inspector_close(inspector);
    if (!known || schema) return schema;
    Py_RETURN_NONE;
}

PyObject *topic_sweep(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    uint32_t swept = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    int code = slipring_topic_sweep(bus, topic, &swept);
    return code ? raise_code_at(code, bus) : PyLong_FromUnsignedLong(swept);
}

PyObject *topic_verify(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    slipring_inspector *inspector;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    int code = slipring_inspector_open(bus, topic, &inspector);
    if (code) return raise_code_at(code, bus);
    code = slipring_inspector_verify(inspector);
    slipring_inspector_close(inspector);
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

PyObject *topic_repair(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    int repair, code;
    bool half = false;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssp", &bus, &topic, &repair)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_topic_repair(bus, topic, repair != 0, &half);
    Py_END_ALLOW_THREADS
    return code ? raise_code_at(code, bus) : PyBool_FromLong(half);
}

PyObject *cursor_drop(PyObject *module, PyObject *args) {
    const char *bus, *topic, *name;
    int code;
    (void)module;
    if (!PyArg_ParseTuple(args, "sss", &bus, &topic, &name)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_cursor_drop(bus, topic, name);
    Py_END_ALLOW_THREADS
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

PyObject *check_name(PyObject *module, PyObject *args) {
    const char *argument, *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &argument, &name)) return NULL;
    int code = slipring_check_name(argument, name);
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

/* layout(kind="topic") */
PyObject *layout(PyObject *module, PyObject *args) {
    size_t count;
    const char *kind = "topic";
    (void)module;
    if (!PyArg_ParseTuple(args, "|s", &kind)) return NULL;
    const slipring_layout_field *fields = slipring_layout_of(kind, &count);
    if (!fields) return raise_bad_argument("kind", "kind='%s' is not a kind of file", kind);
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < count; i++) {
        PyObject *row =
            Py_BuildValue("ssII", fields[i].structure, fields[i].field, (unsigned)fields[i].offset, (unsigned)fields[i].size);
        if (!row || PyList_Append(rows, row)) Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    if (!rows) return NULL;
    return Py_BuildValue("KN", (unsigned long long)slipring_layout_hash_of(kind), rows);
}

/* Stats ----------------------------------------------------------------------------------------------------- */

static PyObject *name_text(const char *name) { return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace"); }

static bool add_row(PyObject *list, PyObject *row) {
    bool ok = row && PyList_Append(list, row) == 0;
    Py_XDECREF(row);
    return ok;
}

static bool add_writers(slipring_inspector *inspector, uint32_t count, PyObject *list) {
    for (uint32_t e = 0; e < count; e++) {
        slipring_writer_info w;
        slipring_inspector_writer(inspector, e, &w);
        if (w.used && !add_row(list, Py_BuildValue("{sIsNsIsNsKsK}", "entry", (unsigned)e, "alive", PyBool_FromLong(w.alive),
                                                   "pid", (unsigned)w.pid, "sender", name_text(w.name), "published",
                                                   (unsigned long long)w.published, "bytes", (unsigned long long)w.bytes)))
            return false;
    }
    return true;
}

static unsigned long long lag(uint64_t tail, uint64_t position) { return tail > position ? tail - position : 0; }

static bool add_readers(slipring_inspector *inspector, const slipring_topic_info *t, PyObject *list) {
    static const char *const kinds[] = {"free", "lossy", "reliable", "cursor"};
    for (uint32_t e = 0; e < t->max_readers; e++) {
        slipring_reader_info r;
        slipring_inspector_reader(inspector, e, &r);
        if (r.used && !add_row(list, Py_BuildValue(
                                         "{sIsNsIsssKsKsKsKsKsN}", "entry", (unsigned)e, "alive", PyBool_FromLong(r.alive), "pid",
                                         (unsigned)r.pid, "kind", r.kind < 4 ? kinds[r.kind] : "unknown", "position",
                                         (unsigned long long)r.position, "lag", lag(t->tail, r.position), "received",
                                         (unsigned long long)r.received, "lost", (unsigned long long)r.lost, "filtered",
                                         (unsigned long long)r.filtered, "held", PyBool_FromLong(r.holds))))
            return false;
    }
    return true;
}

static bool add_cursors(slipring_inspector *inspector, const slipring_topic_info *t, PyObject *list) {
    for (uint32_t e = 0; e < t->max_cursors; e++) {
        slipring_cursor_info c;
        slipring_inspector_cursor(inspector, e, &c);
        if (c.used && !add_row(list, Py_BuildValue("{sNsKsKsLsLsLsN}", "name", name_text(c.name), "position",
                                                   (unsigned long long)c.position, "lag", lag(t->tail, c.position), "touched_ns",
                                                   (long long)c.touched_ns, "expires_ns", (long long)c.expires_ns, "created_ns",
                                                   (long long)c.created_ns, "attached", PyBool_FromLong(c.attached))))
            return false;
    }
    return true;
}

static PyObject *topic_dict(const slipring_topic_info *t, PyObject *claims, PyObject *writers, PyObject *readers,
                            PyObject *cursors) {
    return Py_BuildValue(
        "{sssssssKsKsIsIsIsIsKsLsIsKsIsKsKsKsKsKsKsKsOsOsOsO}", "content",
        t->content ? "frames" : "messages", "delivery", t->delivery ? "reliable" : "lossy", "writers",
        t->writers ? "one" : "many", "capacity", (unsigned long long)t->capacity, "slots", (unsigned long long)t->slots,
        "max_readers", (unsigned)t->max_readers, "max_writers", (unsigned)t->max_writers, "max_cursors",
        (unsigned)t->max_cursors, "mode", (unsigned)t->mode, "generation", (unsigned long long)t->generation, "created_ns",
        (long long)t->created_ns, "creator_pid", (unsigned)t->creator_pid, "file_bytes", (unsigned long long)t->file_bytes,
        "schema_bytes", (unsigned)t->schema_size, "published", (unsigned long long)t->published, "abandoned", (unsigned long long)t->abandoned, "unsettled",
        (unsigned long long)t->unsettled, "bytes", (unsigned long long)t->bytes, "oldest", (unsigned long long)t->oldest,
        "tail", (unsigned long long)t->tail, "retained", lag(t->tail, t->oldest), "open_claims", claims, "publishers",
        writers, "readers", readers, "cursors", cursors);
}

PyObject *topic_stats(PyObject *module, PyObject *args) {
    const char *bus, *topic;
    slipring_inspector *inspector;
    slipring_topic_info t;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &topic)) return NULL;
    int code = slipring_inspector_open(bus, topic, &inspector);
    if (code) return raise_code_at(code, bus);
    code = slipring_inspector_topic(inspector, &t);
    PyObject *result = NULL, *writers = PyList_New(0), *readers = PyList_New(0), *cursors = PyList_New(0), *claims = NULL;
    if (code)
        raise_code_at(code, bus);
    else if ((claims = t.unsettled ? open_claims(bus, topic) : PyList_New(0)) && writers && readers && cursors &&
             add_writers(inspector, t.max_writers, writers) && add_readers(inspector, &t, readers) && add_cursors(inspector, &t, cursors))
        result = topic_dict(&t, claims, writers, readers, cursors);
    slipring_inspector_close(inspector);
    Py_XDECREF(claims);
    Py_XDECREF(writers);
    Py_XDECREF(readers);
    Py_XDECREF(cursors);
    return result;
}
