#include "topologies/chips/measured_products.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lockstep::topologies {
namespace {

constexpr std::int64_t largest_size = 10'000'000;
constexpr double shortest = 1e-9, longest = 1e6;  // seconds

/// The first of the names that the table has; "" if it has none.
std::string_view column_of(const CsvTable& table, std::initializer_list<std::string_view> names) {
  const auto* found = std::find_if(names.begin(), names.end(), [&](auto name) { return table.has(name); });
  return found == names.end() ? std::string_view{} : *found;
}

/// A column with the time of a product, and what makes seconds of it.
struct TimeColumn {
  std::string_view name;
  double seconds;  ///< of one unit; 0: the column has TFLOP/s
};
constexpr std::array time_columns{TimeColumn{"seconds", 1}, TimeColumn{"ms", 1e-3}, TimeColumn{"us", 1e-6},
                                  TimeColumn{"tflops", 0}, TimeColumn{"TFLOPS", 0}};

struct Columns {
  std::string_view batch, m, n, k, precision;
  const TimeColumn* time = nullptr;
};

Columns columns_of(const CsvTable& table) {
  const auto* time = std::find_if(time_columns.begin(), time_columns.end(),
                                  [&](const TimeColumn& column) { return table.has(column.name); });
  return {column_of(table, {"batch", "b", "B"}),
          column_of(table, {"m", "M"}),
          column_of(table, {"n", "N"}),
          column_of(table, {"k", "K"}),
          column_of(table, {"precision", "dtype"}),
          time == time_columns.end() ? nullptr : time};
}

Precision precision_of(const CsvRow& row, std::string_view column) {
  auto text = row.text(column);
  if (text == "bfloat16") text = "bf16";
  if (text == "float16" || text == "half") text = "fp16";
  if (const auto known = precision_named(text)) return *known;
  row.problem(column, "unknown precision '" + text + "'", "one of fp32, bf16, fp16, fp8, int8, fp4, mxfp8, nvfp4");
  return Precision::bf16;
}

TimedProduct product_of(const CsvRow& row, const Columns& columns) {
  const auto size = [&](std::string_view column, std::optional<std::int64_t> fallback = std::nullopt) {
    const auto value = row.integer(column, fallback);
    if (value <= largest_size) return value;
    row.problem(column, "'" + row.text(column) + "' is too large", "at most " + std::to_string(largest_size));
    return std::int64_t{1};
  };
  TimedProduct product;
  product.where = row.where();
  auto& shape = product.shape;
  shape.precision = precision_of(row, columns.precision);
  shape.batch = columns.batch.empty() ? 1 : size(columns.batch, 1);
  shape.m = size(columns.m);
  shape.n = size(columns.n);
  shape.k = size(columns.k);
  const auto value = row.number(columns.time->name);
  if (row.text(columns.time->name).empty()) row.problem(columns.time->name, "is missing", "what one product took");
  const double flops = 2 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const double seconds = !value                      ? 1
                         : columns.time->seconds > 0 ? *value * columns.time->seconds
                                                     : flops / (*value * 1e12);
  if (seconds < shortest || seconds > longest)
    row.problem(columns.time->name, "'" + row.text(columns.time->name) + "' is not that of a product",
                "1e-9 to 1e6 seconds");
  product.time = Seconds(seconds);
  return product;
}

}  // namespace

std::string ProductShape::to_string() const {
  return (batch > 1 ? std::to_string(batch) + " of " : "") + std::to_string(m) + " x " + std::to_string(n) + " x " +
         std::to_string(k) + " in " + std::string(name(precision));
}

bool has_product_shapes(const CsvTable& table) {
  const auto columns = columns_of(table);
  return !columns.m.empty() && !columns.n.empty() && !columns.k.empty() && !columns.precision.empty() &&
         columns.time != nullptr;
}

std::vector<TimedProduct> read_timed_products(const CsvTable& table, const std::string& chip) {
  std::vector<TimedProduct> products;
  const auto columns = columns_of(table);
  for (const auto& row : table.rows()) {
    if (table.has("kernel") && row.text("kernel") != "product") continue;
    if (!chip.empty() && table.has("chip") && row.text("chip") != chip) continue;
    products.push_back(product_of(row, columns));
  }
  return products;
}

MeasuredProducts::MeasuredProducts(const std::vector<TimedProduct>& products) {
  std::map<ProductShape, double> counts;
  for (const auto& [shape, time, where] : products) {
    times_.try_emplace(shape, Seconds(0)).first->second += time;
    ++counts[shape];
  }
  for (auto& [shape, time] : times_) time = time / counts[shape];
}

std::optional<Seconds> MeasuredProducts::time_of(const ProductShape& shape) const {
  if (const auto found = times_.find(shape); found != times_.end()) return found->second;
  auto transposed = shape;
  std::swap(transposed.m, transposed.n);
  if (const auto found = times_.find(transposed); found != times_.end()) return found->second;
  return std::nullopt;
}

}  // namespace lockstep::topologies
