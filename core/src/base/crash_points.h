/* SPDX-License-Identifier: Apache-2.0
 *
 * Named crash points: places at which a test build of the core can be told to die. In the shipped build they
 * are nothing. A test arms one with SLR_CRASH_POINT_ARM; the process kills itself there with SIGKILL.
 */
#ifndef SLR_BASE_CRASH_POINTS_H
#define SLR_BASE_CRASH_POINTS_H

#ifdef SLR_CRASH_POINTS
void slr_crash_point_reached(const char *name);
void slr_crash_point_arm(const char *name, int hits);   /* die at the hits-th time */
void slr_crash_point_watch(void (*callback)(const char *name)); /* tests that list the points */
#define SLR_CRASH_POINT(name) slr_crash_point_reached(name)
#else
#define SLR_CRASH_POINT(name) ((void)0)
#endif

#endif
