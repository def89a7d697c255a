//! Declares enums whose variants have fixed names, which plans, journals and reports contain.

/// Declares an enum with its variants, the name of each, and the conversions between them.
///
/// ```
/// planrun_lang::words! {
///     /// Where a parameter is sent.
///     Place {
///         Path = "path",
///         Query = "query",
///     }
/// }
///
/// assert_eq!(Place::ALL, [Place::Path, Place::Query]);
/// assert_eq!(Place::find("query"), Some(Place::Query));
/// assert_eq!(Place::Path.to_string(), "path");
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$of_enum:meta])* $name:ident { $($(#[$of_word:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$of_word])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the name of the variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the variant with this name.
            #[must_use]
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
