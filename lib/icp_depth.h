/* Vertex and normal maps of a depth camera: what a frame, or a model seen from a pose, gives to a registration. */
#ifndef PC_ICP_DEPTH_H
#define PC_ICP_DEPTH_H

/* A pixel has three floats x y z in each map, row by row from the top: a point of the camera's frame in metres, and the
 * unit normal there, which points to the camera's side. NaN = none. */
typedef struct pc_maps {
    int width, height;
    float *vertices;
    float *normals;
} pc_maps;

#endif
