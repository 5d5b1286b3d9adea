// Records of every shape that a layout meets.
#pragma once

#include "layouts/Record.h"

namespace restride::shapes {

inline Field scalar(std::string Name, std::string Type, uint64_t Offset, uint64_t Size) {
  Field F;
  F.Name = std::move(Name);
  F.Type = std::move(Type);
  F.Offset = Offset;
  F.Size = F.Align = Size;
  return F;
}

/// A member array of \p Extents; its elements are \p Size bytes long.
inline Field array(std::string Name, std::string Type, uint64_t Offset, uint64_t Size, std::vector<uint64_t> Extents) {
  Field F = scalar(std::move(Name), std::move(Type), Offset, Size);
  F.Extents = std::move(Extents);
  F.Size *= F.arrayElements();
  return F;
}

/// struct Pair { float x, y; };
inline Record pair() { return {"Pair", 8, 4, {scalar("x", "float", 0, 4), scalar("y", "float", 4, 4)}}; }

/// struct Pixel { unsigned char r, g, b; };
inline Record pixel() {
  return {"Pixel",
          3,
          1,
          {scalar("r", "unsigned char", 0, 1), scalar("g", "unsigned char", 1, 1), scalar("b", "unsigned char", 2, 1)}};
}

/// struct Padded { char c; double d; short s; };
inline Record padded() {
  return {"Padded", 24, 8, {scalar("c", "char", 0, 1), scalar("d", "double", 8, 8), scalar("s", "short", 16, 2)}};
}

/// struct Arrays { float v[3]; int m[2][2]; double whole[5]; };
inline Record arrays() {
  Record R{"Arrays",
           72,
           8,
           {array("v", "float", 0, 4, {3}), array("m", "int", 12, 4, {2, 2}), array("whole", "double", 32, 8, {5})}};
  R.Fields[2].KeepWhole = true;
  return R;
}

/// struct Nested { struct Vec { float x, y; } pos, vel[2]; float4 color; int n; };
inline Record nested() {
  Field Pos = scalar("pos", "Vec", 0, 8), Vel = array("vel", "Vec", 8, 8, {2});
  Pos.Align = Vel.Align = 4;
  Pos.Members = Vel.Members = {scalar("x", "float", 0, 4), scalar("y", "float", 4, 4)};
  return {"Nested", 64, 16, {Pos, Vel, scalar("color", "float4", 32, 16), scalar("n", "int", 48, 4)}};
}

inline std::vector<Record> all() { return {pair(), pixel(), padded(), arrays(), nested()}; }

} // namespace restride::shapes
