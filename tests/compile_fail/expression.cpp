// EXPRESSION comes from the command line; see CMakeLists.txt.
#include "sim/core/units.hpp"

using namespace lockstep;

Seconds seconds(1);
Bytes bytes(1);
Flops flops(1);
BytesPerSecond byte_rate(1);
FlopsPerSecond flop_rate(1);
Seconds takes_seconds(Seconds time);
double takes_number(double number);

auto evaluate() { return EXPRESSION; }
