#include "cupti/windows/unfinished_launches.h"

#include "catch.h"

namespace gpuprof::injection::cupti {

TEST_CASE("Launches are unfinished until their records come") {
  forget_launches();
  launch_begun(7);
  launch_begun(70'000);
  launch_ended(7);
  CHECK(any_unfinished());
  launch_ended(70'000);
  launch_ended(70'000);
  CHECK_FALSE(any_unfinished());
}

TEST_CASE("Launches whose records do not come are forgotten at the second call") {
  forget_launches();
  launch_begun(7);
  launch_begun(8);
  forget_old_launches();
  launch_begun(9);
  launch_ended(8);
  launch_begun(8);  // the number is used again
  forget_old_launches();
  CHECK(any_unfinished());
  launch_ended(9);
  CHECK(any_unfinished());
  launch_ended(8);
  CHECK_FALSE(any_unfinished());  // 7 is forgotten
  launch_ended(7);                // its record comes after all
  CHECK_FALSE(any_unfinished());
}

}  // namespace gpuprof::injection::cupti
