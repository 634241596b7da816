#pragma once
/// SVG pictures as PNG, by librsvg's rsvg-convert.
#include <filesystem>
#include <string_view>

#include "tools/output/files/new_file.hpp"

namespace lockstep::output {

/// Refuses, before any work is done for it, when rsvg-convert is not installed. "" is no file.
void check_png_writer(const std::filesystem::path& file);
/// Refuses a name that is neither .svg nor .png, and a place that cannot be written. "" is no place.
void check_picture_place(const std::filesystem::path& file);
/// Twice the SVG's own size. Throws ConfigError when the place cannot be written, OutOfRoom when the disk is full.
void write_png(NewFiles& files, const std::filesystem::path& file, std::string_view svg);
/// Writes PNG or SVG, by the end of the name.
void write_picture_file(const std::filesystem::path& file, std::string_view svg);
/// `place`.svg, and `place`.png beside it if asked for.
void write_picture(NewFiles& files, const std::filesystem::path& place, std::string_view svg, bool png);

}  // namespace lockstep::output
