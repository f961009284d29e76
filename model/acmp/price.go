package acmp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/apd/v3"
)

// Prices are decimals, never floats: 0.1 + 0.2 is 0.3 (A-001, D-22).

// The bounds of a price that is still computed with; a number beyond them would
// let a peer burn time and memory with a few bytes.
const (
	maxPriceDigits   = 64
	maxPriceExponent = 64
)

var errPrice = errors.New("not a price: a plain decimal number, zero or more, is needed")

var cu = apd.BaseContext.WithPrecision(4 * maxPriceDigits)

func parseCU(n json.Number) (*apd.Decimal, error) {
	if len(n) == 0 || len(n) > 2*maxPriceDigits {
		return nil, errPrice
	}
	d, _, err := apd.NewFromString(string(n))
	if err != nil || d.Form != apd.Finite || d.Negative && !d.IsZero() {
		return nil, errPrice
	}
	if d.NumDigits() > maxPriceDigits || d.Exponent > maxPriceExponent || d.Exponent < -maxPriceExponent {
		return nil, errPrice
	}
	return d, nil
}

// ValidCU reports whether n is a price: a finite decimal, zero or more, of at
// most 64 digits.
func ValidCU(n json.Number) error {
	_, err := parseCU(n)
	return err
}

// CompareCU compares two prices as decimals: -1, 0 or +1.
func CompareCU(a, b json.Number) (int, error) {
	x, err := parseCU(a)
	if err != nil {
		return 0, fmt.Errorf("%w", err)
	}
	y, err := parseCU(b)
	if err != nil {
		return 0, fmt.Errorf("%w", err)
	}
	return x.Cmp(y), nil
}

// AddCU adds two prices; an empty one counts as zero.
func AddCU(a, b json.Number) (json.Number, error) {
	return combine(a, b, cu.Add)
}

// Overcharge is by how much cost lies above ceiling, in CU; "" when it does not
// or when there is no ceiling. A cost or ceiling that is no price
// is an error.
func Overcharge(cost json.Number, ceiling *json.Number) (json.Number, error) {
	if ceiling == nil {
		return "", ValidCU(cost)
	}
	c, err := CompareCU(cost, *ceiling)
	if err != nil || c <= 0 {
		return "", err
	}
	return combine(cost, *ceiling, cu.Sub)
}

func combine(a, b json.Number, op func(d, x, y *apd.Decimal) (apd.Condition, error)) (json.Number, error) {
	x, y := new(apd.Decimal), new(apd.Decimal)
	var err error
	if a != "" {
		if x, err = parseCU(a); err != nil {
			return "", err
		}
	}
	if b != "" {
		if y, err = parseCU(b); err != nil {
			return "", err
		}
	}
	var sum apd.Decimal
	if _, err := op(&sum, x, y); err != nil {
		return "", errPrice
	}
	return json.Number(sum.Text('f')), nil
}
