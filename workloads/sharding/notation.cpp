#include "workloads/sharding/notation.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace lockstep::workloads {
namespace {

std::string join(const AxisNames& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Recursive descent over one line of notation.
class Parser {
 public:
  Parser(std::string_view text, const AxisNames& axes) : text_(text), axes_(axes) {}

  ShardedTensor tensor() {
    ShardedTensor result;
    skip_space();
    const auto start = position_;
    result.name = word("a tensor's name");
    expect('[', "'[' after the tensor's name");
    do result.dims.push_back(dim(result));
    while (accept(','));
    expect(']', "',' or ']' after a dimension");
    if (accept('{')) {
      skip_space();
      const auto place = position_;
      if (word("U") != "U" || !accept('_')) fail("is not a partial sum", "{U_X}", place);
      result.partial = subscripts();
      expect('}', "'}' after a partial sum's axes");
    }
    refuse_axis_used_twice(result, start);
    return result;
  }

  Einsum einsum() {
    Einsum result;
    result.left = tensor();
    expect('*', "'*' between the two operands");
    result.right = tensor();
    expect('-', "'->' before the result");
    expect('>', "'->' before the result");
    result.result = tensor();
    return result;
  }

  void end() {
    skip_space();
    if (position_ < text_.size()) fail("has text after its end", "nothing more", position_);
  }

 private:
  ShardedDim dim(const ShardedTensor& so_far) {
    skip_space();
    const auto start = position_;
    ShardedDim result{word("a dimension"), {}};
    if (so_far.find(result.name) != nullptr)
      fail("names dimension " + result.name + " twice", "each dimension once", start);
    if (accept('_')) result.axes = subscripts();
    return result;
  }

  AxisNames subscripts() {
    skip_space();
    const auto start = position_;
    AxisNames result;
    if (accept('{')) {
      do {
        skip_space();
        const auto place = position_;
        add_axis(result, word("a mesh axis"), place);
      } while (accept(','));
      expect('}', "'}' after the axes");
      return result;
    }
    const auto name = word("a mesh axis");
    const bool letters =
        std::all_of(name.begin(), name.end(), [&](char c) { return contains(axes_, std::string(1, c)); });
    if (!contains(axes_, name) && letters) {
      for (const char letter : name) add_axis(result, std::string(1, letter), start);
    } else {
      add_axis(result, name, start);
    }
    return result;
  }

  void add_axis(AxisNames& list, const std::string& axis, std::size_t place) {
    if (!contains(axes_, axis)) {
      throw ShardingError(axis, "mesh axis " + axis + " does not exist", "one of " + join(axes_), column(place));
    }
    list.push_back(axis);
  }

  static void refuse_axis_used_twice(const ShardedTensor& tensor, std::size_t start) {
    std::set<std::string> seen;
    auto visit = [&](const AxisNames& list) {
      for (const auto& axis : list) {
        if (!seen.insert(axis).second) {
          throw ShardingError(axis, "mesh axis " + axis + " is used twice in " + tensor.to_string(),
                              "an axis at most once per tensor", column(start));
        }
      }
    };
    for (const auto& dim : tensor.dims) visit(dim.axes);
    visit(tensor.partial);
  }

  std::string word(const std::string& expected) {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
    if (start == position_)
      fail(start < text_.size() ? "has '" + std::string(1, text_[start]) + "' where a name is due" : "ends too early",
           expected, start);
    return std::string(text_.substr(start, position_ - start));
  }

  bool accept(char symbol) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != symbol) return false;
    ++position_;
    return true;
  }

  void expect(char symbol, const std::string& expected) {
    if (!accept(symbol))
      fail(position_ < text_.size() ? "has '" + std::string(1, text_[position_]) + "'" : "ends too early", expected,
           position_);
  }

  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
  }

  static int column(std::size_t place) { return static_cast<int>(place) + 1; }

  [[noreturn]] void fail(const std::string& what, const std::string& expected, std::size_t place) const {
    throw ShardingError("", "'" + std::string(text_) + "' " + what + " at column " + std::to_string(column(place)),
                        expected, column(place));
  }

  std::string_view text_;
  const AxisNames& axes_;
  std::size_t position_ = 0;
};

}  // namespace

bool contains(const AxisNames& axes, std::string_view axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

const ShardedDim* ShardedTensor::find(std::string_view dim) const {
  const auto found = std::find_if(dims.begin(), dims.end(), [&](const auto& d) { return d.name == dim; });
  return found == dims.end() ? nullptr : &*found;
}

ShardedDim* ShardedTensor::find(std::string_view dim) {
  return const_cast<ShardedDim*>(std::as_const(*this).find(dim));
}

const ShardedDim* ShardedTensor::sharded_by(std::string_view axis) const {
  const auto found = std::find_if(dims.begin(), dims.end(), [&](const auto& d) { return contains(d.axes, axis); });
  return found == dims.end() ? nullptr : &*found;
}

bool ShardedTensor::is_partial_over(std::string_view axis) const { return contains(partial, axis); }

bool ShardedTensor::same_sharding(const ShardedTensor& other) const {
  return dims == other.dims && partial == other.partial;
}

std::string subscript(const AxisNames& axes) {
  if (axes.size() == 1) return axes.front();
  const bool letters = std::all_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.size() == 1; });
  std::string text;
  for (const auto& axis : axes) text += (text.empty() || letters ? "" : ",") + axis;
  return letters ? text : "{" + text + "}";
}

std::string ShardedTensor::to_string() const {
  std::string text = name + "[";
  for (const auto& dim : dims) {
    if (&dim != &dims.front()) text += ", ";
    text += dim.name;
    if (!dim.axes.empty()) text += "_" + subscript(dim.axes);
  }
  text += "]";
  if (!partial.empty()) text += " {U_" + subscript(partial) + "}";
  return text;
}

std::string Einsum::to_string() const {
  return left.to_string() + " * " + right.to_string() + " -> " + result.to_string();
}

ShardingError::ShardingError(std::string axis, std::string what, std::string expected, int column)
    : std::runtime_error(what + "; expected " + expected),
      axis_(std::move(axis)),
      what_(std::move(what)),
      expected_(std::move(expected)),
      column_(column) {}

ShardedTensor parse_tensor(std::string_view text, const AxisNames& axes) {
  Parser parser(text, axes);
  auto result = parser.tensor();
  parser.end();
  return result;
}

Einsum parse_einsum(std::string_view text, const AxisNames& axes) {
  Parser parser(text, axes);
  auto result = parser.einsum();
  parser.end();
  return result;
}

}  // namespace lockstep::workloads
