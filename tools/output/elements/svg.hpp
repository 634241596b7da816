#pragma once
/// The few pieces of SVG that our pictures are made of.
#include <filesystem>
#include <string>

namespace lockstep::output::svg {

/// Escapes text for XML; control characters are shown as their codes.
[[nodiscard]] std::string escaped(const std::string& text);
/// A text element; `anchor` is start, middle or end; `more` are further attributes.
[[nodiscard]] std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                                  const std::string& more = "");
/// A filled rectangle; `title` is what a reader sees who points at it.
[[nodiscard]] std::string rectangle(double x, double y, double width, double height, const std::string& colour,
                                    const std::string& title);
/// The opening tag of a picture whose text is readable on light and dark pages.
[[nodiscard]] std::string open(double width, double height);

/// Refuses a name that is not .svg, and a place that cannot be written. "" is no place.
void check_place(const std::filesystem::path& file);

}  // namespace lockstep::output::svg
