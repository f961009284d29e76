package theme

// rgb is a colour as 0xRRGGBB.
type rgb uint32

// palette holds the tokens of one theme. text is used on the selection alone;
// elsewhere text has the terminal's own foreground.
type palette struct {
	text   rgb
	muted  rgb // secondary words: at least 3:1
	faint  rgb // lines and rules, no text
	accent rgb
	ok     rgb
	wait   rgb
	warn   rgb
	bad    rgb
	sel    rgb // background of the selected row
	selOff rgb // the same in a pane without focus
	// grounds are the terminal backgrounds the theme is made for.
	grounds []rgb
}

var darkPalette = palette{
	text: 0xf2f4f8, muted: 0x98a2b3, faint: 0x566072, accent: 0x56d4dd,
	ok: 0x7bd88f, wait: 0x9db8ff, warn: 0xf2c55c, bad: 0xff8585,
	sel: 0x29405c, selOff: 0x2b313b,
	grounds: []rgb{0x000000, 0x16181d, 0x1e1e2e, 0x282a36},
}

var lightPalette = palette{
	text: 0x14181d, muted: 0x5c6670, faint: 0xaab3bd, accent: 0x00607a,
	ok: 0x17652b, wait: 0x3448b0, warn: 0x744d00, bad: 0xae1c28,
	sel: 0xcfe1f7, selOff: 0xe6e9ed,
	grounds: []rgb{0xffffff, 0xfafafa, 0xfdf6e3},
}

var darkContrastPalette = palette{
	text: 0xffffff, muted: 0xd6d6d6, faint: 0xb0b0b0, accent: 0x00ffff,
	ok: 0x5fff87, wait: 0xb3c6ff, warn: 0xffe14d, bad: 0xff9c9c,
	sel: 0x003d80, selOff: 0x303030,
	grounds: []rgb{0x000000, 0x16181d, 0x1e1e2e},
}

var lightContrastPalette = palette{
	text: 0x000000, muted: 0x333333, faint: 0x555555, accent: 0x003e66,
	ok: 0x004d14, wait: 0x1a1a8c, warn: 0x523600, bad: 0x8a0010,
	sel: 0xffe066, selOff: 0xe0e0e0,
	grounds: []rgb{0xffffff, 0xfafafa},
}
