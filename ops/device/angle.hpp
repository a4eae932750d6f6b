#pragma once

/// Sines and cosines of large angles, without tables and without local memory.
/// Sources: the reduction by Cody and Waite (1980) with fused products; polynomials of fdlibm's k_sin.c and k_cos.c
/// (Sun Microsystems, 1993).

#include <megakernels/tylo/target.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace mk::handlers {

struct direction {
  float cosine;
  float sine;
};

/// Cosine and sine of an angle in radians: computed in double, rounded to fp32. NaN over 2^45 and for what is no
/// number.
TYLO_FN inline direction direction_of(double angle) {
  constexpr double limit = 35184372088832.0;
  if (!(std::abs(angle) <= limit)) {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    return {nan, nan};
  }
  // angle = quarters * (pi / 2) + r. The first product leaves no error: r is a multiple of the lowest bits of both.
  double const quarters = std::rint(angle * 0x1.45f306dc9c883p-1);
  double r = std::fma(-quarters, 0x1.921fb54442d18p+0, angle);
  r = std::fma(-quarters, 0x1.1a62633145c07p-54, r);
  double const z = r * r;

  double s = 1.58969099521155010221e-10;
  s = std::fma(s, z, -2.50507602534068634195e-08);
  s = std::fma(s, z, 2.75573137070700676789e-06);
  s = std::fma(s, z, -1.98412698298579493134e-04);
  s = std::fma(s, z, 8.33333333332248946124e-03);
  s = std::fma(s, z, -1.66666666666666324348e-01);
  auto const sine = static_cast<float>(std::fma(s * z, r, r));

  double c = -1.13596475577881948265e-11;
  c = std::fma(c, z, 2.08757232129817482790e-09);
  c = std::fma(c, z, -2.75573143513906633035e-07);
  c = std::fma(c, z, 2.48015872894767294178e-05);
  c = std::fma(c, z, -1.38888888888741095749e-03);
  c = std::fma(c, z, 4.16666666666666019037e-02);
  auto const cosine = static_cast<float>(std::fma(z * z, c, std::fma(z, -0.5, 1.0)));

  auto const quadrant = static_cast<std::uint32_t>(static_cast<std::int64_t>(quarters)) & 3u;
  bool const swapped = (quadrant & 1u) != 0;
  float const along = swapped ? sine : cosine, across = swapped ? cosine : sine;
  return {.cosine = quadrant == 1 || quadrant == 2 ? -along : along, .sine = quadrant >= 2 ? -across : across};
}

} // namespace mk::handlers
