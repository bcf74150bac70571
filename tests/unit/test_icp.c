/* Poses that come back on the path of a registration of depth images. */
#include "unit.h"
#include "projective_optimizer.h"

/* A path at a level whose steps may be 1 mm and 0.001 radian long, three steps on its way. */
static pc_depth_optimizer a_path(void) {
    pc_depth_optimizer p = {.levels = 1,
                            .most = {30},
                            .max_correspondence = 0.2,
                            .metres = 1e-3,
                            .radians = 1e-3,
                            .start = {.q = {1, 0, 0, 0}, .t = {0.1, 0.2, 0.3}},
                            .target = {.points = 1000, .center = {1, 2, 3}, .gyration = {1, 1, 1}}};
    pc_depth_optimizer_begin(&p);
    for (int k = 0; k < 3; k++) {
        memcpy(p.marks[k], p.mark, sizeof p.mark);
        p.weights[k] = 10.0 * (k + 1);
        const double update[6] = {0, 0, 0.02, 0.01, 0, 0};
        pc_optimizer_move(&p.base, p.center, k == 1 ? 1.0 : 100.0, update);
        pc_depth_take_pose(&p);
    }
    return p;
}

/* A pose comes back when it is within a step of one before, by both measures and whatever the quaternion's sign. */
static void test_returns(void **unused) {
    pc_depth_optimizer p = a_path();
    for (int k = 0; k < 3; k++) { /* the start takes the anchor to the centre */
        assert_true(fabs(p.marks[0][k] - p.center[k]) < 1e-15);
    }
    for (int age = 1; age <= PC_POSE_HISTORY; age++) {
        assert_false(pc_depth_optimizer_returns(&p, age));
    }
    static const struct {
        double turn, shift;
        bool back;
    } cases[] = {{0, 0, true}, {0.9e-3, 0, true}, {1.1e-3, 0, false}, {0, 0.9e-3, true}, {0, 1.1e-3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            const double update[6] = {0, cases[i].turn, 0, 0, 0, cases[i].shift};
            const pc_pose *one = &p.base.history.poses[1];
            pc_pose near = pc_pose_updated(one, p.marks[1], update);
            for (int k = 0; k < 4; k++) {
                near.q[k] *= sign;
            }
            p.base.pose = near;
            pc_depth_take_pose(&p);
            for (int age = 1; age <= PC_POSE_HISTORY; age++) {
                assert_int_equal(pc_depth_optimizer_returns(&p, age), cases[i].back && age == 2);
            }
        }
    }
    /* of the last two the first costs less for its weight, and is where the level ends */
    const pc_pose best = p.base.history.poses[1];
    pc_depth_optimizer_continue(&p, 2);
    assert_true(p.base.converged && p.asks_scene);
    assert_memory_equal(&p.base.pose, &best, sizeof best);
    assert_true(p.step.t[0] == (float)best.t[0]);
}

UNIT_GROUP(icp, NULL, NULL, TEST(test_returns))
