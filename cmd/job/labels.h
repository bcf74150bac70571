/* --labels: the .label files of SemanticKITTI beside the scans of a session. */
#ifndef LABELS_H
#define LABELS_H

#include "job.h"

/* Checks --labels against the inputs. */
bool labels_check(const session *session, reason *why);
/* The file with the labels of an input: --labels, or NAME.label in this folder; malloc'd. NULL without --labels. */
char *labels_path(const session *session, const char *input);
/* With --labels: adds the columns label and instance, uint16, to the cloud of an input as it was read. */
bool labels_add(const session *session, const char *input, pcgpu_cloud *cloud, reason *why);

#endif
