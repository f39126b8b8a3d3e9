/**
 * Names for people who do not exist.
 */
import { oneOf } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"

const givenNames =
  "Ada Aisha Alba Alma Amir Anders Anna Anton Arjun Astrid Aylin Beatriz Ben Bo Camille Carla Chen Clara Daniel Darya David Dilan Dina Elena Elias Elif Emil Emma Erik Esra Eva Farah Felix Fatima Finn Florian Frida Gabriel Greta Hana Hannah Hugo Ida Ilse Imani Ines Ivan Jakob Jana Jonas Joana Julia Kai Karim Katja Kenji Klara Lars Lea Leila Leo Lin Lina Louis Luca Maja Malik Marek Maria Marta Mateo Max Mei Mia Milan Mina Miriam Nadia Nils Nina Noah Nora Olga Omar Oscar Paul Pia Priya Rafael Rania Rosa Ruth Sami Samuel Sara Selma Sofia Sven Tariq Thea Theo Tim Vera Yara Yusuf Zoe".split(
    " "
  )

const familyNames =
  "Adler Ahmed Andersson Bauer Becker Berg Bianchi Brandt Castro Costa Demir Diaz Dietrich Dubois Eriksen Evans Fernandez Fischer Fontaine Frank Garcia Gruber Haas Hansen Hartmann Hoffmann Horvat Ibrahim Ito Ivanova Jansen Jensen Johnson Kaya Keller Khan Kim Klein Kovacs Kowalski Kraus Kruger Lang Larsen Laurent Lehmann Li Lindberg Lopez Maier Marino Martin Mendes Meyer Moreau Moretti Muller Nagy Nakamura Neumann Nguyen Nielsen Novak Okafor Olsen Ortega Patel Pereira Peters Petrov Popescu Richter Ricci Roth Rossi Santos Sato Schmidt Schneider Schulz Sharma Silva Simon Singh Sorensen Stein Suzuki Tanaka Torres Vogel Wagner Walter Weber Wolf Yildiz Zhang Zimmermann".split(
    " "
  )

export const givenName = (rng: Rng): string => oneOf(rng, givenNames) ?? ""
export const familyName = (rng: Rng): string => oneOf(rng, familyNames) ?? ""
export const fullName = (rng: Rng): string => `${givenName(rng)} ${familyName(rng)}`
