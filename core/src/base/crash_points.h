/* SPDX-License-Identifier: Apache-2.0
 *
 * Named crash points: places at which a test build kills its own process with SIGKILL. In the shipped build they are empty.
 * A test arms one with slr_crash_point_arm.
 */
#ifndef SLR_BASE_CRASH_POINTS_H
#define SLR_BASE_CRASH_POINTS_H

#ifdef SLR_CRASH_POINTS
void slr_crash_point_reached(const char *name);
void slr_crash_point_arm(const char *name, int hits);   /* die when it is reached for the hits-th time */
void slr_crash_point_watch(void (*callback)(const char *name)); /* for tests that list the points */
#define SLR_CRASH_POINT(name) slr_crash_point_reached(name)
#else
#define SLR_CRASH_POINT(name) ((void)0)
#endif

#endif
