/* SPDX-License-Identifier: Apache-2.0 */
#include "native.h"
#include "columns/buffer_pool.h"

PyTypeObject *add_type(PyObject *module, PyType_Spec *spec) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);
    if (type && PyModule_AddType(module, type)) Py_CLEAR(type);
    return type;
}

static PyMethodDef functions[] = {{"set_error_factory", set_error_factory, METH_O, NULL},
                                  {"wait", native_wait, METH_VARARGS, NULL},
                                  {"keep", native_keep, METH_VARARGS, NULL},
                                  {"body_bytes", native_body_bytes, METH_O, NULL},
                                  {"check_target", native_check_target, METH_O, NULL},
                                  {"topic_create", topic_create, METH_VARARGS, NULL},
                                  {"topic_remove", topic_remove, METH_VARARGS, NULL},
                                  {"topic_stats", topic_stats, METH_VARARGS, NULL},
                                  {"topic_schema", topic_schema, METH_VARARGS, NULL},
                                  {"topic_sweep", topic_sweep, METH_VARARGS, NULL},
                                  {"topic_repair", topic_repair, METH_VARARGS, NULL},
                                  {"topic_verify", topic_verify, METH_VARARGS, NULL},
                                  {"cells_create", cells_create, METH_VARARGS, NULL},
                                  {"cells_remove", cells_remove, METH_VARARGS, NULL},
                                  {"cells_stats", cells_stats, METH_VARARGS, NULL},
                                  {"cells_sweep", cells_sweep, METH_VARARGS, NULL},
                                  {"cursor_drop", cursor_drop, METH_VARARGS, NULL},
                                  {"check_name", check_name, METH_VARARGS, NULL},
                                  {"frames_inspect", frames_inspect, METH_VARARGS, NULL},
                                  {"layout", layout, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static bool add_codes(PyObject *module) {
#define ADD(code, number) \
    if (PyModule_AddIntConstant(module, #code, number)) return false;
    SLIPRING_CODES(ADD)
#undef ADD
    return true;
}

/* The types belong to one interpreter and are kept in static variables, which a second interpreter would overwrite. */
static bool of_main_interpreter(void) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
    PyErr_SetString(PyExc_ImportError, "slipring cannot be imported in a sub-interpreter: use it in the main interpreter, or in a "
                                       "process of its own (multiprocessing with spawn)");
    return false;
}

static int execute(PyObject *module) {
    if (!of_main_interpreter()) return -1;
    bool ready = bytes_ready() && message_type_ready(module) && publisher_type_ready(module) && subscriber_type_ready(module) &&
                 region_type_ready(module) && view_type_ready(module) && decoder_type_ready(module) && checked_type_ready(module) &&
                 loan_type_ready(module) && bell_type_ready(module) && inspector_type_ready(module) && range_type_ready(module) &&
                 record_layout_type_ready(module) && cells_types_ready(module) && pool_ready() &&
                 frame_writer_type_ready(module) && frame_reader_type_ready(module) && add_codes(module);
    return ready ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "slipring._native", .m_methods = functions, .m_slots = slots};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
