//! Writes operators, functions and macros with results of a requested type.

use std::rc::Rc;

use super::expressions::{Level, Text};
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::Ty;

impl Writer<'_> {
    /// Writes an operation. `None` if no operation has this type.
    pub fn operation(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        match ty {
            Ty::Str => Some(self.text_operation(depth)),
            Ty::Int => Some(self.int_operation(depth)),
            Ty::Double => Some(self.double_operation(depth)),
            Ty::Bool => self.condition(depth),
            Ty::Time => {
                let (time, span) = (self.value(&Ty::Time, depth), self.value(&Ty::Span, depth));
                Some(Text::new(
                    format!("{} + {}", time.at(Level::Sum), span.at(Level::Product)),
                    Level::Sum,
                ))
            }
            Ty::Span => Some(self.span_operation(depth)),
            Ty::Mix => {
                let one = if self.dice.one_in(2) {
                    Ty::Int
                } else {
                    Ty::Str
                };
                Some(self.value(&one, depth))
            }
            Ty::List(element) => self.list_operation(element, depth),
            Ty::Map(value) => Some(self.map_operation(value, depth)),
            Ty::Opt(inner) => Some(self.maybe_operation(inner, depth)),
            Ty::Words(_) | Ty::Object(_) | Ty::Result(_) | Ty::Error => None,
        }
    }

    /// Writes the receiver of a method.
    fn receiver(&mut self, ty: &Ty, depth: usize) -> String {
        self.value(ty, depth).at(Level::Primary)
    }

    fn text_operation(&mut self, depth: usize) -> Text {
        let s = &Ty::Str;
        Text::primary(match self.dice.below(18) {
            0..=4 => return self.template(depth),
            5 => {
                let (one, other) = (self.value(s, depth), self.value(s, depth));
                return Text::new(
                    format!("{} + {}", one.at(Level::Sum), other.at(Level::Product)),
                    Level::Sum,
                );
            }
            6 => {
                let method = *self
                    .dice
                    .pick(&["lowerAscii", "upperAscii", "trim", "reverse"]);
                format!("{}.{method}()", self.receiver(s, depth))
            }
            7 => format!(
                "{}.replace(\"a\", {})",
                self.receiver(s, depth),
                self.value(s, depth).text
            ),
            8 => format!("{}.join(\", \")", self.receiver(&Ty::Str.list(), depth)),
            9 => {
                let ty = self
                    .dice
                    .pick(&[Ty::Int, Ty::Double, Ty::Bool, Ty::Time, Ty::Span])
                    .clone();
                format!("string({})", self.value(&ty, depth).text)
            }
            10 => {
                let ty = self
                    .dice
                    .pick(&[
                        Ty::Int,
                        Ty::Str.list(),
                        Ty::Int.optional(),
                        Ty::Map(Rc::new(Ty::Double)),
                    ])
                    .clone();
                format!("json({})", self.value(&ty, depth).text)
            }
            11 => {
                format!(
                    "\"%s has %d\".format([{}, {}])",
                    self.value(s, depth).text,
                    self.value(&Ty::Int, depth).text
                )
            }
            12 => format!("strings.quote({})", self.value(s, depth).text),
            13 => format!("base64.encode(bytes({}))", self.value(s, depth).text),
            14 => {
                let name = self.names.value(self.dice);
                let bound = self.value(s, depth).text;
                format!("cel.bind({name}, {bound}, {name} + {name})")
            }
            15 => format!("{}.charAt(0)", self.receiver(s, depth)),
            16 => match self.finished_race() {
                Some(name) => format!("winner({name})"),
                None => return self.template(depth),
            },
            // The checker reports an index past the end of a constant.
            _ => format!(
                "(\"a\" + {}).substring({})",
                self.value(s, depth).at(Level::Product),
                self.dice.below(2)
            ),
        })
    }

    fn int_operation(&mut self, depth: usize) -> Text {
        Text::primary(match self.dice.below(14) {
            0..=2 => match self.sized() {
                Some(path) => format!("size({})", self.read(&path).text),
                None => format!("size({})", self.value(&Ty::Str, depth).text),
            },
            3..=5 => return self.arithmetic(&Ty::Int, &["+", "-", "*", "/", "%"], depth),
            6 => format!("{}.indexOf(\"a\")", self.receiver(&Ty::Str, depth)),
            7 => format!("int({})", self.value(&Ty::Double, depth).text),
            8 => format!("sum({})", self.value(&Ty::Int.list(), depth).text),
            9 => {
                let function = *self.dice.pick(&["greatest", "least"]);
                format!(
                    "math.{function}({}, {})",
                    self.value(&Ty::Int, depth).text,
                    self.value(&Ty::Int, depth).text
                )
            }
            10 => format!("math.abs({})", self.value(&Ty::Int, depth).text),
            11 => {
                let method =
                    *self
                        .dice
                        .pick(&["getFullYear", "getMonth", "getDayOfWeek", "getHours"]);
                format!("{}.{method}()", self.receiver(&Ty::Time, depth))
            }
            12 => {
                return Text::new(
                    format!("-{}", self.value(&Ty::Int, depth).at(Level::Primary)),
                    Level::Unary,
                );
            }
            _ => format!("{}.size()", self.receiver(&Ty::Str, depth)),
        })
    }

    fn double_operation(&mut self, depth: usize) -> Text {
        Text::primary(match self.dice.below(9) {
            0..=2 => return self.arithmetic(&Ty::Double, &["+", "-", "*", "/"], depth),
            3 => {
                let (int, double) = (self.value(&Ty::Int, depth), self.value(&Ty::Double, depth));
                return Text::new(
                    format!("{} + {}", int.at(Level::Sum), double.at(Level::Product)),
                    Level::Sum,
                );
            }
            4 => format!("double({})", self.value(&Ty::Int, depth).text),
            5 => {
                let function = *self.dice.pick(&["ceil", "floor", "round", "trunc", "abs"]);
                // An integer may be written in place of a double, so `double` makes the type certain.
                format!(
                    "math.{function}(double({}))",
                    self.value(&Ty::Double, depth).text
                )
            }
            6 => format!("sum({})", self.value(&Ty::Double.list(), depth).text),
            7 => {
                let (span, unit) = (self.value(&Ty::Span, depth), self.dice.between(2, 90));
                return Text::new(
                    format!("{} / {unit}m", span.at(Level::Product)),
                    Level::Product,
                );
            }
            // Without `abs` the result could be NaN, which JSON cannot represent.
            _ => format!(
                "math.sqrt(math.abs({}))",
                self.value(&Ty::Double, depth).text
            ),
        })
    }

    fn arithmetic(&mut self, ty: &Ty, signs: &[&str], depth: usize) -> Text {
        let sign = *self.dice.pick(signs);
        let level = if matches!(sign, "+" | "-") {
            Level::Sum
        } else {
            Level::Product
        };
        let above = if level == Level::Sum {
            Level::Product
        } else {
            Level::Unary
        };
        let one = self.value(ty, depth);
        let other = match sign {
            // The checker reports a constant zero.
            "/" | "%" => self.dice.between(2, 9).to_string(),
            _ => self.unlike(&one, ty, depth).at(above),
        };
        Text::new(format!("{} {sign} {other}", one.at(level)), level)
    }

    /// Writes an operation with an optional result: an end of a list, or its greatest or least element.
    fn maybe_operation(&mut self, inner: &Rc<Ty>, depth: usize) -> Text {
        if !self.dice.one_in(3) {
            return self.value(inner, depth);
        }
        let ordered = matches!(
            **inner,
            Ty::Int | Ty::Double | Ty::Str | Ty::Bool | Ty::Time | Ty::Span
        );
        let method = *self.dice.pick(if ordered {
            &["first", "last", "min", "max"][..]
        } else {
            &["first", "last"]
        });
        // The list is not empty, because the element type of an empty literal is unknown.
        let (one, other) = (self.value(inner, depth), self.value(inner, depth));
        Text::primary(format!("[{}, {}].{method}()", one.text, other.text))
    }

    fn span_operation(&mut self, depth: usize) -> Text {
        if self.dice.one_in(3) {
            let (one, factor) = (self.value(&Ty::Span, depth), self.dice.between(2, 9));
            let sign = *self.dice.pick(&["*", "/"]);
            return Text::new(
                format!("{} {sign} {factor}", one.at(Level::Product)),
                Level::Product,
            );
        }
        let (ty, sign) = if self.dice.one_in(2) {
            (Ty::Time, "-")
        } else {
            (Ty::Span, "+")
        };
        let one = self.value(&ty, depth);
        let other = self.unlike(&one, &ty, depth);
        Text::new(
            format!("{} {sign} {}", one.at(Level::Sum), other.at(Level::Product)),
            Level::Sum,
        )
    }

    fn list_operation(&mut self, element: &Rc<Ty>, depth: usize) -> Option<Text> {
        let whole = Ty::List(element.clone());
        Some(Text::primary(match self.dice.below(12) {
            0..=2 => return self.mapped(element, depth),
            10 => format!(
                "{}.take({})",
                self.receiver(&whole, depth),
                self.dice.below(4)
            ),
            11 if matches!(**element, Ty::Int | Ty::Double | Ty::Str | Ty::Bool) => {
                let (list, name) = (self.receiver(&whole, depth), self.names.value(self.dice));
                format!("{list}.sortBy({name}, {name})")
            }
            3 | 4 => {
                // A literal would have a narrower type than the expected one.
                let paths = self.readables();
                let list = paths
                    .iter()
                    .find(|path| path.exact && path.ty.fits(&whole))?
                    .clone();
                let Ty::List(own) = &list.ty else { return None };
                let name = self.names.value(self.dice);
                let condition = self.element_condition(&name, own, depth)?;
                let list = self.read(&list).text;
                format!("{list}.filter({name}, {condition})")
            }
            5 => {
                let (one, other) = (self.value(&whole, depth), self.value(&whole, depth));
                return Some(Text::new(
                    format!("{} + {}", one.at(Level::Sum), other.at(Level::Product)),
                    Level::Sum,
                ));
            }
            6 => {
                let sortable = matches!(**element, Ty::Int | Ty::Double | Ty::Str | Ty::Bool);
                let method = if sortable {
                    *self.dice.pick(&["sort", "distinct", "reverse"])
                } else {
                    "reverse"
                };
                format!("{}.{method}()", self.receiver(&whole, depth))
            }
            7 if **element == Ty::Int => format!("lists.range({})", self.dice.below(6)),
            7 if **element == Ty::Str => format!("{}.split(\",\")", self.receiver(&Ty::Str, depth)),
            8 => format!("{}.flatten()", self.receiver(&whole.clone().list(), depth)),
            _ => return None,
        }))
    }

    /// Writes a list that is mapped from another one, or from the results of an `each … settle`.
    fn mapped(&mut self, element: &Rc<Ty>, depth: usize) -> Option<Text> {
        let paths = self.readables();
        let lists: Vec<&Readable> = paths
            .iter()
            .filter(|path| matches!(path.ty, Ty::List(_)))
            .collect();
        if lists.is_empty() {
            return None;
        }
        let path = (*self.dice.pick(&lists)).clone();
        let Ty::List(of) = &path.ty else { return None };
        let list = self.read(&path).text;
        let name = self.names.value(self.dice);
        if let Ty::Result(value) = &**of
            && value.fits(element)
        {
            return Some(Text::primary(format!(
                "{list}.map({name}, {name}.ok, {name}.value)"
            )));
        }
        let condition = if self.dice.one_in(4) {
            self.element_condition(&name, of, depth)
                .map(|text| format!(" {text},"))
        } else {
            None
        };
        let known = self.scope.mark();
        self.scope
            .add_made(&name, (**of).clone(), Kind::Local, path.exact);
        let body = self.value(element, depth).text;
        self.scope.close(known);
        Some(Text::primary(format!(
            "{list}.map({name},{} {body})",
            condition.unwrap_or_default()
        )))
    }

    fn map_operation(&mut self, value: &Rc<Ty>, depth: usize) -> Text {
        let map = self.value(&Ty::Map(Rc::new(Ty::Int)), 0);
        let (key, each) = (self.names.value(self.dice), self.names.value(self.dice));
        let known = self.scope.mark();
        self.scope.add(&key, Ty::Str, Kind::Local);
        self.scope.add_made(&each, Ty::Int, Kind::Local, false);
        let body = self.value(value, depth).text;
        self.scope.close(known);
        // The element type of an empty literal is unknown.
        let map = if map.text == "{}" {
            "{ a: 1 }".to_owned()
        } else {
            map.at(Level::Primary)
        };
        Text::primary(format!("{map}.transformMap({key}, {each}, {body})"))
    }

    /// Returns a path to a value that has a size.
    fn sized(&mut self) -> Option<Readable> {
        let paths = self.readables();
        let sized: Vec<&Readable> = paths
            .iter()
            .filter(|path| matches!(path.ty, Ty::Str | Ty::Words(_) | Ty::List(_) | Ty::Map(_)))
            .collect();
        if sized.is_empty() {
            None
        } else {
            Some((*self.dice.pick(&sized)).clone())
        }
    }

    /// Returns the name of a race that has certainly finished.
    fn finished_race(&mut self) -> Option<String> {
        let races = self.scope.variables.iter().filter(|variable| {
            matches!(variable.kind, Kind::Race(_))
                && variable.guard.is_empty()
                && !matches!(variable.ty, Ty::Opt(_))
        });
        let race = races.last()?;
        race.used.set(true);
        Some(race.name.clone())
    }
}
